// A call that the server holds, from Start to Stop: one WebSocket with the sound of both sides. It is for where sound
// cannot pass otherwise, and for whoever wants the server's agents.

import { CLOCK } from "./clock.js";
import { LiveDialogue } from "./live-dialogue.js";
import { opening } from "./live-events.js";
import { LiveRefused, LiveWire } from "./live-wire.js";
import { StandingCall } from "./standing-call.js";

/** @import { ClientSecret } from "./wire" */
/** @import { Live, LiveListener, ToldTurn } from "./live" */
/** @import { LiveOpening } from "./live-wire.js" */
/** @import { CallControls, CallNeeds, Clock, Speaker } from "./voice" */

const NOBODY = /** @type {Speaker} */ ({ changed: () => undefined });

/**
 * @typedef {object} LiveCallNeeds
 * @property {(question: string) => ToldTurn} asked
 * @property {(turn: ToldTurn, heard: number) => void} interrupted
 * @property {(agent: string, previous: string | null) => void} agent
 * @property {string | null} orchestrator that the person chose
 * @property {string | null} note why the server holds this call
 *
 * @typedef {object} LiveAround
 * @property {(opening: LiveOpening) => Promise<Live>} open
 * @property {Clock} clock
 */

/** @type {LiveAround} */
export const SERVER = { open: LiveWire.open, clock: CLOCK };

/**
 * @extends {StandingCall<Live, LiveDialogue, CallNeeds & LiveCallNeeds>}
 * @implements {CallControls}
 */
export class LiveCall extends StandingCall {
  /**
   * @param {string} chatId
   * @param {CallNeeds & LiveCallNeeds} needs
   * @param {LiveAround} [around]
   */
  constructor(chatId, needs, around = SERVER) {
    const dialogue = (/** @type {import("./standing-call.js").Telling} */ telling) =>
      new LiveDialogue({
        ...telling,
        asked: (question) => needs.asked(question),
        interrupted: (turn, heard) => needs.interrupted(turn, heard),
        agent: (agent, previous) => needs.agent(agent, previous),
      });
    super(chatId, needs, around.clock, dialogue);
    this.around = around;
  }

  /** Whether what is said leaves the machine. */
  get leaves() {
    return Boolean(this.wire?.ready.leaves);
  }

  /** Whether a model writes the answers, and nobody checks them against the notes. */
  get byModel() {
    const ready = this.wire?.ready;
    return ready?.orchestrator === "live" || ready?.leaves?.what === "questions";
  }

  /**
   * Ask in writing; whether there is a session to ask.
   * @param {string} text
   */
  ask(text) {
    return this.dialogue.ask(text);
  }

  /** The server speaks by itself. */
  speak() {
    return NOBODY;
  }

  /** @param {boolean} on a session takes turns in one way to its end: another one takes its place */
  pushToTalk(on) {
    if (on === this.dialogue.byHand) return;
    this.dialogue.talkByHand(on);
    if (this.wire !== null) this.replace(this.wire);
  }

  press() {
    this.dialogue.press();
  }

  release() {
    this.dialogue.release();
  }

  retract() {
    this.dialogue.retract();
  }

  /**
   * @protected
   * @override
   * @returns {Promise<void>}
   */
  async open() {
    const { needs } = this;
    const { signal } = this.ended;
    const secret = await needs.credential(this.chatId, signal);
    signal.throwIfAborted();
    const byHand = this.dialogue.byHand;
    const wire = await this.around.open({
      microphone: /** @type {MediaStream} */ (this.microphone),
      url: liveUrl(),
      credential: secret.value,
      wanted: opening({ orchestrator: needs.orchestrator, byHand }),
      connect: needs.connect,
      listener: this.#listener(),
      signal,
    });
    if (!this.stands(secret, wire)) return;
    if (byHand !== this.dialogue.byHand) {
      // Chosen while it was opened.
      wire.close();
      return this.open();
    }
    this.forget("returning");
    this.dialogue.attach(wire);
  }

  /** @returns {LiveListener} */
  #listener() {
    const { dialogue } = this;
    const { current, lost, blocked } = this.connection();
    return {
      event: (event) => current() && dialogue.event(event),
      began: (id) => current() && dialogue.began(id),
      played: (id, ms) => current() && dialogue.played(id, ms),
      idle: () => current() && dialogue.idle(),
      lost,
      blocked,
    };
  }

  /**
   * @protected
   * @override
   * @param {unknown} error
   */
  refusal(error) {
    return error instanceof LiveRefused && !error.again ? error.message : null;
  }

  /**
   * What the server holds speaks, whatever the page's own calls do.
   * @protected
   * @override
   * @param {ClientSecret} secret
   * @param {Live} wire
   */
  shown({ voice }, { ready }) {
    const note = [this.needs.note, leavingLine(ready)].filter(Boolean).join(" ") || null;
    return { voice: voice === "simulated" ? /** @type {const} */ ("local") : voice, note };
  }
}

/** @param {import("./live").Ready} ready */
function leavingLine({ leaves }) {
  if (!leaves) return null;
  const what = leaves.what === "voice" ? "your voice, questions and passages of your notes" : "questions and passages of your notes";
  return `In this call ${what} go to ${leaves.to}.`;
}

function liveUrl() {
  const at = new URL("/v1/graph/live", location.href);
  at.protocol = at.protocol === "https:" ? "wss:" : "ws:";
  return at.href;
}
