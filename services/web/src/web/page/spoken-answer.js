// One answer on its way to the voice: what the page learns of its turn becomes phrases, each said once.

import { Phrases } from "./phrases.js";
import { lengthOf } from "./offsets.js";

/** @import { Turn } from "./frames.js" */
/** @import { Phrase } from "./phrases.js" */

/**
 * @typedef {object} AnswerNeeds
 * @property {(phrases: Phrase[], turnId: string | null, traceId: string | null) => void} say
 * @property {(turnId: string, heard: number) => void} interrupt
 * @property {(what: "first_delta" | "first_phrase", turnId: string | null) => void} reached
 * @property {() => void} changed
 */

export class SpokenAnswer {
  #phrases = new Phrases();
  #taken = "";
  #said = 0;
  #complete = false;
  /** What was heard when it was cut; null while it is not. @type {number | null} */
  #cutAt = null;
  #told = false;
  /** @type {string | null} */
  turnId = null;
  /** @type {string | null} */
  #traceId = null;

  /** @param {AnswerNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** The answer as far as it was taken up. */
  get text() {
    return this.#taken;
  }

  /** Whether all of it was handed to the voice. */
  get complete() {
    return this.#complete;
  }

  /** @param {Turn} turn */
  changed(turn) {
    this.turnId = turn.turnId;
    this.#traceId = turn.traceId;
    if (this.#cutAt !== null) return this.#tell(turn);
    if (this.#complete) return;
    this.#take(turn);
    this.needs.changed();
  }

  /**
   * Nothing more of it is said; the turn is told, as soon as it has a name.
   * @param {number} heard
   */
  cut(heard) {
    if (this.#cutAt !== null) return;
    this.#cutAt = heard;
    if (this.turnId === null) return;
    this.#told = true;
    this.needs.interrupt(this.turnId, heard);
  }

  /** Nothing more of it is said, and its turn goes on. */
  leave() {
    this.#cutAt ??= 0;
    this.#told = true;
  }

  /** @param {Turn} turn */
  #tell(turn) {
    if (this.#told || turn.turnId === null) return;
    this.#told = true;
    this.needs.interrupt(turn.turnId, this.#cutAt ?? 0);
  }

  /** @param {Turn} turn */
  #take(turn) {
    const { text } = turn;
    if (text.startsWith(this.#taken)) {
      if (this.#taken === "" && text !== "") this.needs.reached("first_delta", turn.turnId);
      const more = text.slice(this.#taken.length);
      this.#taken = text;
      if (more !== "") this.#say(this.#phrases.push(more));
    } else if (this.#said === 0) {
      // Another text took its place before a word of it was said.
      this.#phrases = new Phrases();
      this.#taken = text;
      this.#say(this.#phrases.push(text));
    }
    if (turn.stage === "done") {
      this.#complete = true;
      this.#say(this.#phrases.end());
    } else if (turn.stage === "failed") {
      this.#complete = true;
      const end = lengthOf(this.#taken);
      if (turn.problem !== null) this.#say([{ text: turn.problem.message, span: [end, end] }]);
    } else if (turn.stage === "stopped") {
      this.#complete = true;
    }
  }

  /** @param {Phrase[]} phrases */
  #say(phrases) {
    if (phrases.length === 0) return;
    if (this.#said === 0) this.needs.reached("first_phrase", this.turnId);
    this.#said += phrases.length;
    this.needs.say(phrases, this.turnId, this.#traceId);
  }
}
