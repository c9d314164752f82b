// What is said and heard in a call, whatever wire it runs on: utterances become questions, answers become speech, and
// who speaks last is heard.
//
//   session --events--> Utterances --question--> page --turn--> SpokenAnswer --phrases--> SpeechQueue --events--> session
//                           |                                                                  |
//                           `-- speech: held -- utterance: interrupted, none: resumed ---------'   HeardLedger: how far

import { listening } from "./events.js";
import { HeardLedger, wholeWords } from "./heard.js";
import { lengthOf } from "./offsets.js";
import { SpeechQueue } from "./speech-queue.js";
import { SpokenAnswer } from "./spoken-answer.js";
import { TalkButton } from "./talk-button.js";
import { Utterances, asksForSilence, isBackchannel } from "./utterances.js";

/** @import { AudioTranscription, RealtimeServerEvent } from "openai/resources/realtime/realtime" */
/** @import { Problem } from "./microphone.js" */
/** @import { Phrase } from "./speech-queue.js" */
/** @import { Heard } from "./utterances.js" */
/** @import { Clock, Doing, MomentName, Said, Speaker, Transport } from "./voice" */

/** How long after its end speech may still prove to be an utterance, in milliseconds. */
export const CONFIRMED_WITHIN = 1500;
/** How often a caption moves on, and how often web is told how much was heard. */
const CAPTION = 250;
const REPORT = 2000;

/**
 * @typedef {object} DialogueNeeds
 * @property {Clock} clock
 * @property {(doing: Doing) => void} changed
 * @property {(problem: Problem) => void} trouble
 * @property {(question: string) => void} ask
 * @property {(said: Said) => void} said
 * @property {(turnId: string, heard: number) => void} interrupt
 * @property {(turnId: string, characters: number) => void} heard
 * @property {(name: MomentName, turnId: string | null) => void} moment
 */

export class Dialogue {
  /** @type {Transport | null} */
  #transport = null;
  #utterances = new Utterances();
  #ledger = new HeardLedger();
  /** @type {SpeechQueue} */
  #queue;
  /** @type {SpokenAnswer | null} */
  #answer = null;
  /** What plays, or played last while more waits. @type {{ phrase: Phrase, responseId: string } | null} */
  #playing = null;
  #words = "";
  #sounded = false;
  #reported = 0;
  #over = false;
  #stopConfirming = () => {};
  #stopTicking = () => {};
  #reportedAt = 0;
  /** @type {AudioTranscription | null} */
  #transcription = null;
  #waits = false;

  /** @param {DialogueNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    this.button = new TalkButton({
      clock: needs.clock,
      transport: () => this.#transport,
      began: () => this.#speechStarted(),
      ended: () => this.#speechStopped(),
      retracted: () => this.#resume(),
    });
    this.#queue = new SpeechQueue({
      clock: needs.clock,
      send: (event) => this.#transport?.send(event),
      hold: (held) => this.#transport?.hold(held),
      clear: () => this.#transport?.clear(),
      started: (phrase, responseId) => this.#started(phrase, responseId),
      ended: (phrase, how) => this.#ended(phrase, how),
      idle: () => this.#idle(),
      trouble: needs.trouble,
    });
  }

  /**
   * A connection stands.
   * @param {Transport} transport
   * @param {{ waits: boolean, transcription: AudioTranscription | null }} session `waits`: it holds its speech while the person speaks
   */
  attach(transport, { waits, transcription }) {
    this.#transport = transport;
    this.#waits = waits;
    this.#transcription = transcription;
    this.#utterances = new Utterances();
    this.button.reset();
    this.#configure();
    this.#queue.open();
    this.#show();
  }

  /** It is gone; what it was saying is said again on the next one. */
  detach() {
    this.#quiet();
    this.#ledger.ended(false, this.needs.clock.now(), this.#played());
    this.#playing = null;
    this.#queue.suspend();
    this.button.reset();
    this.#transport = null;
  }

  /** The call is over: whatever comes later is ignored. */
  stop() {
    this.#over = true;
    this.detach();
  }

  /** @param {RealtimeServerEvent} event */
  event(event) {
    if (this.#over) return;
    switch (event.type) {
      case "input_audio_buffer.speech_started":
        this.#speechStarted();
        break;
      case "input_audio_buffer.speech_stopped":
        this.#speechStopped();
        break;
      case "input_audio_buffer.cleared":
        if (!this.button.cleared()) this.#resume();
        break;
      case "response.output_audio.done":
        if (event.response_id === this.#queue.active?.responseId) {
          this.#ledger.whole(this.#transport?.received(event.response_id) ?? 0);
        }
        break;
      case "error":
        this.#refused(event.error.code ?? "");
        break;
      default:
    }
    this.#queue.handle(event);
    const heard = this.#utterances.handle(event);
    if (heard !== null) this.#understood(heard);
  }

  /**
   * The answer to a question that is asked now is spoken; the one before falls silent.
   * @returns {Speaker}
   */
  speak() {
    this.#cut();
    this.#queue.begin();
    this.#ledger.begin();
    this.#playing = null;
    this.#reported = 0;
    this.#sounded = false;
    const answer = new SpokenAnswer({
      say: (...phrases) => this.#queue.add(...phrases),
      interrupt: this.needs.interrupt,
      reached: this.needs.moment,
      changed: () => this.#show(),
    });
    this.#answer = answer;
    this.#show();
    return {
      changed: (turn) => {
        if (!this.#over) answer.changed(turn);
      },
    };
  }

  /** Silent at once, and the turn is stopped where it was heard. */
  hush() {
    this.#quiet();
    this.#cut();
    this.#show();
  }

  /** @param {boolean} on */
  pushToTalk(on) {
    if (on === this.button.byHand) return;
    this.button.retract();
    this.button.byHand = on;
    this.#configure();
  }

  /** @param {boolean} on */
  mute(on) {
    this.button.muted = on;
    this.#transport?.listen(this.button.open);
  }

  #configure() {
    if (this.#transport === null) return;
    this.#queue.speaksAgain = this.button.byHand || !this.#waits;
    this.#transport.listen(this.button.open);
    this.#transport.send(listening({ byHand: this.button.byHand, transcription: this.#transcription }));
  }

  #speechStarted() {
    this.#stopConfirming();
    this.#words = "";
    this.#ledger.hold(this.needs.clock.now());
    this.#queue.hold();
    this.needs.moment("speech_started", null);
    this.#show();
  }

  #speechStopped() {
    this.needs.moment("speech_stopped", null);
    this.#stopConfirming();
    this.#stopConfirming = this.needs.clock.after(CONFIRMED_WITHIN, () => this.#resume());
    this.#show();
  }

  #resume() {
    this.#stopConfirming();
    if (!this.#queue.held) return;
    this.#ledger.resume(this.needs.clock.now());
    if (this.#queue.busy) this.needs.moment("resumed", this.#answer?.turnId ?? null);
    this.#queue.resume();
    this.#show();
  }

  /** @param {Heard} heard */
  #understood(heard) {
    switch (heard.kind) {
      case "words":
        this.#words = heard.text;
        return this.#show();
      case "late":
        return this.needs.said({ itemId: heard.itemId, text: heard.text, question: false });
      case "blank":
        return this.#resume();
      case "failed":
        this.needs.trouble(UNHEARD);
        return this.#resume();
      case "long":
        this.needs.said({ itemId: heard.itemId, text: heard.text, question: false });
        this.needs.trouble(TOO_LONG);
        return this.#resume();
      case "question":
        return this.#question(heard.itemId, heard.text);
    }
  }

  /**
   * @param {string} itemId
   * @param {string} text
   */
  #question(itemId, text) {
    const listens = this.#queue.busy && isBackchannel(text);
    const silence = asksForSilence(text);
    this.needs.said({ itemId, text, question: !listens && !silence });
    if (listens) return this.#resume();
    this.#stopConfirming();
    this.#quiet();
    this.#cut();
    if (silence) return this.#show();
    this.needs.moment("transcript", null);
    // The page asks, and calls `speak` for the turn that it begins.
    this.needs.ask(text);
    this.needs.moment("question", null);
    this.#show();
  }

  /** The answer that is spoken, or on its way, ends here. */
  #cut() {
    const answer = this.#answer;
    const spoken = answer !== null && answer.complete && !this.#queue.busy;
    const heard = answer === null ? 0 : wholeWords(answer.text, this.#heard());
    this.#queue.interrupt();
    this.#answer = null;
    this.#playing = null;
    if (answer === null || spoken) return answer?.leave();
    this.needs.moment("interrupted", answer.turnId);
    answer.cut(heard);
  }

  /**
   * @param {Phrase} phrase
   * @param {string} responseId
   */
  #started(phrase, responseId) {
    const first = !this.#sounded;
    this.#sounded = true;
    const now = this.needs.clock.now();
    this.#playing = { phrase, responseId };
    this.#ledger.started(phrase.span, lengthOf(phrase.text), now);
    if (this.#queue.held) this.#ledger.hold(now);
    if (first) this.needs.moment("first_audio", phrase.turnId);
    this.#tick();
  }

  /**
   * @param {Phrase} phrase
   * @param {"spoken" | "cut" | "failed"} how
   */
  #ended(phrase, how) {
    this.#ledger.ended(how === "spoken", this.needs.clock.now(), this.#played());
    this.#stopTicking();
    const last = how === "spoken" && this.#answer?.complete && !this.#queue.busy;
    // The citation behind the last word is heard with it.
    if (last) this.#ledger.reach(lengthOf(this.#answer?.text ?? ""));
    if (how === "spoken" && phrase.turnId !== null) this.#report(phrase.turnId);
    this.#show();
  }

  #idle() {
    if (this.#answer?.complete && this.#playing !== null) this.needs.moment("spoken", this.#answer.turnId);
    this.#playing = null;
    this.#show();
  }

  /** @param {string} code */
  #refused(code) {
    if (code !== "input_audio_buffer_commit_empty") return;
    this.needs.trouble(NOTHING_HEARD);
    this.#resume();
  }

  #played() {
    return this.#playing === null ? null : (this.#transport?.played(this.#playing.responseId) ?? null);
  }

  #heard() {
    return this.#ledger.heard(this.needs.clock.now(), this.#played());
  }

  #tick() {
    this.#stopTicking();
    this.#show();
    if (this.#playing?.phrase.turnId && this.needs.clock.now() - this.#reportedAt >= REPORT) {
      this.#report(this.#playing.phrase.turnId);
    }
    this.#stopTicking = this.needs.clock.after(CAPTION, () => this.#tick());
  }

  /** @param {string} turnId */
  #report(turnId) {
    const heard = this.#heard();
    if (heard <= this.#reported) return;
    this.#reported = heard;
    this.#reportedAt = this.needs.clock.now();
    this.needs.heard(turnId, heard);
  }

  #quiet() {
    this.#stopConfirming();
    this.#stopTicking();
  }

  #show() {
    if (!this.#over && this.#transport !== null) this.needs.changed(this.#doing());
  }

  /** @returns {Doing} */
  #doing() {
    if (this.#queue.held) return { kind: "hearing", words: this.#words };
    if (this.#playing !== null && this.#queue.busy) {
      const { turnId, text, span } = this.#playing.phrase;
      return { kind: "speaking", turnId, text, span, heard: this.#heard() };
    }
    if (this.#queue.busy) return { kind: "thinking", ready: true };
    return this.#answer !== null && !this.#answer.complete ? { kind: "thinking" } : { kind: "listening" };
  }
}

const UNHEARD = {
  code: "unheard",
  message: "That was not understood.",
  remedy: "Say it again, or type it.",
};

const NOTHING_HEARD = {
  code: "nothing_heard",
  message: "Nothing was heard.",
  remedy: "Hold the button while you speak, and let go when you are done.",
};

const TOO_LONG = {
  code: "long",
  message: "A question has at most 2,000 characters, and this one has more.",
  remedy: "Ask it in fewer words.",
};
