// What is said and heard in a session that the server holds: it asks, answers and gives way there; here it is shown, and
// what the person does is told.
//
//   speech_started -----> silent here at once, and how far playback came is told
//   speech_dismissed ---> it goes on where it was         interrupted --> what was to be heard is forgotten
//   turn_started, input_transcript --> a turn of the conversation      output_transcript --> what is being said of it

import { placeOf } from "./live-events.js";
import { toCodePoints } from "./offsets.js";

/** @import { Live, LiveEvent, ToldTurn } from "./live" */
/** @import { Problem } from "./microphone.js" */
/** @import { Clock, Doing, MomentName, Span } from "./voice" */

/** How long after its end speech may still prove to be an utterance, in milliseconds. */
const CONFIRMED_WITHIN = 1500;
/** Sound that is still on its way when the button is let go, in milliseconds. */
const TAIL = 200;
/** How often the server is told how much was played. */
const REPORT = 250;
/** Characters of a caption: what was said last. */
const CAPTION = 60;

/**
 * @typedef {object} LiveNeeds
 * @property {Clock} clock
 * @property {(doing: Doing) => void} changed
 * @property {(problem: Problem | null) => void} trouble null: it is over
 * @property {(question: string) => ToldTurn} asked a turn begins in the conversation
 * @property {(turn: ToldTurn, heard: number) => void} interrupted speech broke its answer off here, in code points
 * @property {(agent: string, previous: string | null) => void} agent who has the floor
 * @property {(name: MomentName, turnId: string | null) => void} moment
 */

export class LiveDialogue {
  /** @type {Live | null} */
  #wire = null;
  #byHand = false;
  #muted = false;
  #pressed = false;
  #held = false;
  #words = "";
  /** The turn that runs, by the server's count. */
  #number = 0;
  #runs = false;
  /** @type {ToldTurn | null} */
  #turn = null;
  /** Questions that were typed, and of which no turn is known yet. @type {string[]} */
  #typed = [];
  #said = "";
  /** What went wrong last. @type {string | undefined} */
  #wrong;
  /** How far the answer was said, and the part of it that was said last. */
  #reached = 0;
  /** @type {Span} */
  #span = [0, 0];
  /** @type {{ id: string, ms: number } | null} */
  #playing = null;
  #reportedAt = 0;
  #stopConfirming = () => {};
  #stopTail = () => {};

  /** @param {LiveNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** Whether the person marks turns by hand. */
  get byHand() {
    return this.#byHand;
  }

  /** @param {Live} wire */
  attach(wire) {
    this.#wire = wire;
    if (wire.ready.agent !== null) this.needs.agent(wire.ready.agent, null);
    wire.listen(this.#open);
    this.#show();
  }

  /** The connection is gone, and with it what was being said. */
  detach() {
    this.#stopConfirming();
    this.#stopTail();
    if (this.#runs) this.#turn?.ended("failed", "The voice connection was lost in the middle of this answer.");
    this.#wire = null;
    this.#held = this.#pressed = this.#runs = false;
    this.#turn = this.#playing = null;
    this.#number = 0;
    this.#typed = [];
  }

  /** @param {boolean} on the next session takes turns so */
  talkByHand(on) {
    this.#byHand = on;
    this.#wire?.listen(this.#open);
  }

  /** @param {boolean} on */
  mute(on) {
    this.#muted = on;
    this.#wire?.listen(this.#open);
  }

  get #open() {
    return this.#byHand ? this.#pressed : !this.#muted;
  }

  press() {
    if (!this.#byHand || this.#pressed || this.#wire === null) return;
    this.#stopTail();
    this.#pressed = true;
    this.#wire.send({ type: "activity_start" });
    this.#wire.listen(true);
    this.#speechStarted();
  }

  release() {
    if (!this.#pressed) return;
    this.#pressed = false;
    this.#stopTail = this.needs.clock.after(TAIL, () => {
      this.#wire?.listen(this.#open);
      this.#wire?.send({ type: "activity_end" });
    });
  }

  retract() {
    if (!this.#pressed) return;
    this.#pressed = false;
    this.#wire?.listen(this.#open);
    this.#wire?.send({ type: "activity_cancel" });
  }

  /**
   * Ask in writing; whether there is a session to ask.
   * @param {string} text
   */
  ask(text) {
    if (this.#wire === null) return false;
    this.#typed.push(text);
    this.#report();
    this.#wire.silence();
    this.#wire.send({ type: "text", text });
    return true;
  }

  /** Silent at once, and the answer ends where it was heard. */
  hush() {
    if (this.#wire === null) return;
    this.#wire.silence();
    this.#wire.send({ type: "interrupt", ...(this.#playing !== null && { played_ms: Math.round(this.#playing.ms) }) });
    this.#playing = null;
    this.#show();
  }

  /** @param {LiveEvent} event */
  event(event) {
    switch (event.type) {
      case "speech_started":
        return this.#speechStarted();
      case "speech_stopped":
        return this.#speechStopped();
      case "speech_dismissed":
        if (this.#playing !== null) this.needs.moment("resumed", this.#turn?.turnId ?? null);
        return this.#resume();
      case "interrupted":
        return this.#interrupted();
      case "input_transcript":
        return this.#heard(event.text, event.finished);
      case "turn_started":
        return this.#turnStarted(event);
      case "response_started":
        return this.#resume();
      case "output_transcript":
        if (!event.finished) this.#says(event.text);
        return;
      case "response_ended":
        if (event.status === "failed") this.#turn?.ended("failed", this.#wrong);
        return;
      case "turn_complete":
        this.#runs = false;
        this.#turn?.ended("done");
        return this.#show();
      case "agent_changed":
        return this.needs.agent(event.agent, event.previous);
      case "reconnecting":
        return this.needs.trouble({ code: "returning", message: "The voice provider is being reached again…", remedy: "" });
      case "reconnected":
        return this.needs.trouble(null);
      case "error":
        this.#wrong = event.message;
        if (!event.fatal) this.needs.trouble({ code: event.code, message: event.message, remedy: "" });
        return;
      default:
    }
  }

  /** @param {string} id */
  began(id) {
    const first = this.#playing === null;
    this.#playing = { id, ms: 0 };
    if (first) this.needs.moment("first_audio", this.#turn?.turnId ?? null);
    this.#show();
  }

  /**
   * @param {string} id
   * @param {number} ms
   */
  played(id, ms) {
    this.#playing = { id, ms };
    if (this.needs.clock.now() - this.#reportedAt >= REPORT) this.#report();
  }

  idle() {
    this.#report();
    if (this.#playing !== null && !this.#runs) this.needs.moment("spoken", this.#turn?.turnId ?? null);
    this.#playing = null;
    this.#show();
  }

  #report() {
    if (this.#playing === null) return;
    this.#reportedAt = this.needs.clock.now();
    this.#wire?.send({ type: "played", response_id: this.#playing.id, ms: Math.round(this.#playing.ms) });
  }

  #speechStarted() {
    this.#stopConfirming();
    if (!this.#held) this.needs.moment("speech_started", null);
    this.#held = true;
    this.#words = "";
    this.#wire?.hold(true);
    this.#report();
    this.#show();
  }

  #speechStopped() {
    this.needs.moment("speech_stopped", null);
    this.#stopConfirming();
    this.#stopConfirming = this.needs.clock.after(CONFIRMED_WITHIN, () => this.#resume());
  }

  #resume() {
    this.#stopConfirming();
    if (this.#pressed) return;
    this.#held = false;
    this.#wire?.hold(false);
    this.#show();
  }

  #interrupted() {
    const turn = this.#turn;
    if (turn !== null && this.#runs) {
      this.needs.moment("interrupted", turn.turnId);
      turn.ended("interrupted");
      this.needs.interrupted(turn, this.#reached);
    }
    this.#runs = false;
    this.#playing = null;
    this.#resume();
  }

  /**
   * @param {string} text
   * @param {boolean} finished
   */
  #heard(text, finished) {
    if (!finished) {
      this.#words += text;
      return this.#show();
    }
    this.#words = "";
    if (text.trim() === "") return;
    this.needs.moment("transcript", null);
    if (this.#turn === null) this.#turn = this.needs.asked(text);
    else this.#turn.asked(text);
    this.needs.moment("question", null);
    this.#show();
  }

  /** @param {Extract<LiveEvent, { type: "turn_started" }>} event */
  #turnStarted({ turn, turn_id: turnId, trace_id: traceId }) {
    if (turn !== this.#number) {
      this.#number = turn;
      this.#runs = true;
      this.#said = "";
      this.#reached = 0;
      this.#span = [0, 0];
      const typed = this.#typed.shift();
      this.#turn = typed === undefined ? null : this.needs.asked(typed);
    }
    if (turnId === null && traceId !== null) this.#turn?.traced(traceId);
    if (turnId !== null && this.#turn?.turnId !== turnId) {
      // Two agents of one turn may each have asked for an answer of its own.
      if (this.#turn === null || this.#turn.turnId !== null) this.#turn = this.needs.asked("");
      this.#turn.known(turnId, traceId);
      this.#reached = 0;
    }
    this.#show();
  }

  /** @param {string} text */
  #says(text) {
    this.#turn ??= this.needs.asked("");
    this.#said += text;
    this.#turn.said(text);
    const answer = this.#turn.text;
    const from = answer.length === 0 ? 0 : [...answer].slice(0, this.#reached).join("").length;
    const place = placeOf(text, answer, from);
    if (place !== null) {
      this.#span = [toCodePoints(answer, place[0]), toCodePoints(answer, place[1])];
      this.#reached = this.#span[1];
    }
    this.#show();
  }

  #show() {
    if (this.#wire !== null) this.needs.changed(this.#doing());
  }

  /** @returns {Doing} */
  #doing() {
    if (this.#held) return { kind: "hearing", words: this.#words.trim() };
    if (this.#playing !== null && this.#said !== "") {
      const shown = this.#said.slice(-CAPTION).replace(this.#said.length > CAPTION ? /^\S*\s/ : /^/, "");
      return { kind: "speaking", turnId: this.#turn?.turnId ?? null, text: shown, span: this.#span, heard: this.#reached };
    }
    if (this.#runs) return this.#said === "" ? { kind: "thinking" } : { kind: "thinking", ready: true };
    return { kind: "listening" };
  }
}
