// The agent's speech: phrase by phrase, one voice at a time, silent at once when the person speaks (V5, V6).
//
//   waiting -> asked (response.create) -> bound (response.created) -> playing (output_audio_buffer.started)
//           -> over (output_audio_buffer.stopped of the same response): the next one is asked for
//   speech_started -> held -> go on where it was, or interrupted: cancelled, cleared, forgotten

import { cancel, phraseOf, silence, speech } from "./events.js";

/** @import { RealtimeClientEvent, RealtimeServerEvent } from "openai/resources/realtime/realtime" */
/** @import { Problem } from "./microphone.js" */
/** @import { Clock, Span } from "./voice" */

/** How long a phrase may take, from the wish to its end, in milliseconds. */
export const LONGEST_PHRASE = 30_000;
/** How many phrases wait at most. */
export const MOST_WAITING = 100;
/** How long after its generation a phrase may still begin to play, in milliseconds. */
const LATEST_START = 5_000;
/** How long a phrase that was given up before its id was known keeps the next one from being asked for. */
const LATEST_ID = 3_000;
/** How often, and how soon, a phrase is asked for again while the session is still busy with another. */
const TRIES = 5;
const TRY_AGAIN = 300;

/**
 * @typedef {object} Phrase
 * @property {string} id "{generation}:{sequence}"
 * @property {string | null} turnId
 * @property {string | null} traceId
 * @property {string} text as it is said
 * @property {Span} span of the answer
 *
 * @typedef {object} Active
 * @property {Phrase} phrase
 * @property {string | null} responseId null until `response.created`
 * @property {boolean} playing
 * @property {number} tries
 * @property {boolean} refused and to be asked for again
 *
 * @typedef {object} QueueNeeds
 * @property {(event: RealtimeClientEvent) => void} send
 * @property {(held: boolean) => void} hold let nothing be heard on this side, or let it be heard
 * @property {() => void} clear forget on this side what was to be heard
 * @property {(phrase: Phrase, responseId: string) => void} started the first sound of a phrase is played
 * @property {(phrase: Phrase, how: "spoken" | "cut" | "failed") => void} ended
 * @property {() => void} idle nothing is spoken, and nothing waits
 * @property {(problem: Problem) => void} trouble
 * @property {Clock} clock
 */

export class SpeechQueue {
  /** @type {Phrase[]} */
  #waiting = [];
  /** @type {Active | null} */
  #active = null;
  /** Given up before `response.created`: cancelled the moment the id arrives. @type {Set<string>} */
  #nameless = new Set();
  #generation = 0;
  #sequence = 0;
  #open = false;
  #personSpeaks = false;
  /** Silent until the next phrase is bound, so that no rest of the old one is heard. */
  #untilNext = false;
  #held = false;
  #full = false;
  #stopWatch = () => {};

  /**
   * Whether a phrase that was held has to be spoken again from its start, because the session did not wait.
   */
  speaksAgain = false;

  /** @param {QueueNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** The phrase that is asked for or playing. */
  get active() {
    return this.#active;
  }

  /** Whether anything is spoken, or waits for it. */
  get busy() {
    return this.#active !== null || this.#waiting.length > 0;
  }

  /** Whether speech waits for the person to finish. */
  get held() {
    return this.#personSpeaks;
  }

  /** A new answer begins: whatever was to be said of the old one is not said. */
  begin() {
    this.interrupt();
    this.#generation += 1;
    this.#sequence = 0;
    this.#full = false;
  }

  /**
   * Say this next.
   * @param {{ text: string, span: Span }[]} phrases
   * @param {string | null} turnId
   * @param {string | null} traceId
   */
  add(phrases, turnId, traceId) {
    for (const { text, span } of phrases) {
      if (this.#full || this.#waiting.length >= MOST_WAITING) {
        if (!this.#full) this.needs.trouble(TOO_LONG);
        this.#full = true;
        break;
      }
      this.#waiting.push({ id: `${this.#generation}:${this.#sequence}`, turnId, traceId, text, span });
      this.#sequence += 1;
    }
    this.#next();
  }

  /** The connection stands: what waits is spoken. */
  open() {
    this.#open = true;
    this.#next();
  }

  /** The connection is gone: what it was saying is said again on the next one. */
  suspend() {
    this.#open = false;
    this.#stopWatch();
    if (this.#active !== null) this.#waiting.unshift(this.#active.phrase);
    this.#active = null;
    this.#nameless.clear();
    this.#personSpeaks = false;
    this.#untilNext = false;
    this.#apply();
  }

  /** The person began to speak: silent at once, and not yet for good. */
  hold() {
    this.#personSpeaks = true;
    this.#stopWatch();
    this.#apply();
  }

  /** It was no utterance: go on where it was. */
  resume() {
    if (!this.#personSpeaks) return;
    this.#personSpeaks = false;
    const active = this.#active;
    if (active?.playing && this.speaksAgain) {
      this.#silence(active);
      this.#waiting.unshift(active.phrase);
    } else if (active?.refused) {
      this.#ask(active.phrase, active.tries + 1);
    } else if (active !== null) {
      this.#watch(active, LONGEST_PHRASE);
    }
    this.#apply();
    this.#next();
  }

  /** It was one, or somebody wants silence: active and waiting speech is gone. */
  interrupt() {
    this.#personSpeaks = false;
    this.#waiting = [];
    const active = this.#active;
    if (active !== null) {
      this.#silence(active);
      this.needs.ended(active.phrase, "cut");
    }
    this.#apply();
  }

  /** @param {RealtimeServerEvent} event */
  handle(event) {
    switch (event.type) {
      case "response.created":
        this.#created(event.response.id ?? "", phraseOf(event.response));
        break;
      case "response.done":
        this.#generated(event.response.id ?? "", event.response.status ?? "completed");
        break;
      case "output_audio_buffer.started":
        this.#started(event.response_id);
        break;
      case "output_audio_buffer.stopped":
        this.#over(event.response_id, "spoken");
        break;
      case "output_audio_buffer.cleared":
        this.#over(event.response_id, "cut");
        break;
      case "error":
        this.#refused(event.error.event_id ?? "", event.error.code ?? "");
        break;
      default:
    }
  }

  #next() {
    if (!this.#open || this.#personSpeaks || this.#active !== null || this.#nameless.size > 0) return;
    const phrase = this.#waiting.shift();
    if (phrase === undefined) return this.needs.idle();
    this.#ask(phrase, 1);
  }

  /**
   * @param {Phrase} phrase
   * @param {number} tries
   */
  #ask(phrase, tries) {
    this.#active = { phrase, responseId: null, playing: false, tries, refused: false };
    this.#watch(this.#active, LONGEST_PHRASE);
    this.needs.send(speech({ ...phrase, phraseId: phrase.id }));
  }

  /**
   * @param {string} responseId
   * @param {string | null} phraseId
   */
  #created(responseId, phraseId) {
    if (phraseId === null) return;
    const active = this.#active;
    if (active !== null && active.phrase.id === phraseId && active.responseId === null) {
      active.responseId = responseId;
      this.#untilNext = false;
      this.#apply();
      return;
    }
    // Given up in the meantime: it is not to be heard. Clearing would silence what already plays in its place.
    this.needs.send(cancel(responseId));
    if (!active?.playing) this.needs.send(silence());
    if (this.#nameless.delete(phraseId)) this.#next();
  }

  /** @param {string} responseId */
  #started(responseId) {
    const active = this.#active;
    if (active === null || active.responseId !== responseId || active.playing) return;
    active.playing = true;
    if (!this.#personSpeaks) this.#watch(active, LONGEST_PHRASE);
    this.needs.started(active.phrase, responseId);
  }

  /**
   * Generation is over, playback is not. What failed before its first sound is never played.
   * @param {string} responseId
   * @param {string} status
   */
  #generated(responseId, status) {
    const active = this.#active;
    if (active === null || active.responseId !== responseId || active.playing) return;
    if (status === "completed") this.#watch(active, LATEST_START);
    else this.#give(active, UNSPOKEN);
  }

  /**
   * @param {string} responseId
   * @param {"spoken" | "cut"} how
   */
  #over(responseId, how) {
    const active = this.#active;
    if (active === null || active.responseId !== responseId) return;
    this.#leave();
    if (this.#personSpeaks && this.speaksAgain) {
      // It played on while nothing of it was heard.
      this.#waiting.unshift(active.phrase);
      return;
    }
    this.needs.ended(active.phrase, how);
    this.#next();
  }

  /**
   * @param {string} eventId the event of ours that was refused
   * @param {string} code
   */
  #refused(eventId, code) {
    if (!eventId.startsWith("speech:")) return;
    const phraseId = eventId.slice("speech:".length);
    const active = this.#active;
    if (active === null || active.phrase.id !== phraseId || active.responseId !== null) {
      if (this.#nameless.delete(phraseId)) this.#next();
      return;
    }
    if (code !== "conversation_already_has_active_response" || active.tries >= TRIES) return this.#give(active, UNSPOKEN);
    this.#stopWatch();
    active.refused = true;
    if (this.#personSpeaks) return;
    this.#stopWatch = this.needs.clock.after(TRY_AGAIN, () => {
      if (this.#active === active) this.#ask(active.phrase, active.tries + 1);
    });
  }

  /**
   * Nothing more comes of this phrase: the next one.
   * @param {Active} active
   * @param {Problem} why
   */
  #give(active, why) {
    this.#silence(active);
    this.needs.ended(active.phrase, "failed");
    this.needs.trouble(why);
    this.#next();
  }

  /**
   * Take the voice from a phrase, here and in the session.
   * @param {Active} active
   */
  #silence(active) {
    this.#leave();
    this.#untilNext = true;
    this.needs.clear();
    if (!this.#open) return;
    if (active.responseId === null) {
      const { id } = active.phrase;
      this.#nameless.add(id);
      this.needs.clock.after(LATEST_ID, () => {
        if (this.#nameless.delete(id)) this.#next();
      });
      return;
    }
    this.needs.send(cancel(active.responseId));
    this.needs.send(silence());
  }

  #leave() {
    this.#stopWatch();
    this.#active = null;
  }

  /**
   * @param {Active} active
   * @param {number} ms
   */
  #watch(active, ms) {
    this.#stopWatch();
    if (this.#personSpeaks) return;
    this.#stopWatch = this.needs.clock.after(ms, () => {
      if (this.#active === active) this.#give(active, UNSPOKEN);
    });
  }

  #apply() {
    const held = this.#personSpeaks || this.#untilNext;
    if (held === this.#held) return;
    this.#held = held;
    this.needs.hold(held);
  }
}

const UNSPOKEN = {
  code: "unspoken",
  message: "A sentence could not be spoken.",
  remedy: "It is written on the page, and the call goes on.",
};

const TOO_LONG = {
  code: "too_long",
  message: "This answer is too long to be spoken whole.",
  remedy: "The rest of it is written on the page.",
};
