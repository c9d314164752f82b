// How far an answer was heard, in its code points (V11): from what was really played, never from what was only made.

import { toCodePoints, toUtf16 } from "./offsets.js";

/** @import { Span } from "./voice" */

/** Characters a second of usual speech, until the voice has shown its own. */
const USUAL_RATE = 15;

/**
 * @typedef {object} Playing
 * @property {Span} span
 * @property {number} length of the text as it is said, in code points
 * @property {number} since milliseconds since 1970, moved on by the time that it was held
 * @property {number | null} heldAt
 * @property {number | null} duration of its sound in milliseconds, once that is known
 */

export class HeardLedger {
  #rate = USUAL_RATE;
  /** @type {Playing | null} */
  #playing = null;
  #heard = 0;
  /** The duration of a phrase whose sound has not begun. @type {number | null} */
  #early = null;

  /** A new answer: nothing of it was heard. */
  begin() {
    this.#playing = null;
    this.#early = null;
    this.#heard = 0;
  }

  /**
   * The first sound of a phrase is played.
   * @param {Span} span
   * @param {number} length of the text as it is said, in code points
   * @param {number} now
   */
  started(span, length, now) {
    this.#playing = { span, length, since: now, heldAt: null, duration: this.#early };
    this.#early = null;
  }

  /**
   * All sound of the phrase is there, and lasts this long.
   * @param {number} ms
   */
  whole(ms) {
    if (ms <= 0) return;
    if (this.#playing === null) this.#early = ms;
    else this.#playing.duration = ms;
  }

  /** @param {number} now */
  hold(now) {
    if (this.#playing !== null) this.#playing.heldAt ??= now;
  }

  /** @param {number} now */
  resume(now) {
    const playing = this.#playing;
    if (playing === null || playing.heldAt === null) return;
    playing.since += now - playing.heldAt;
    playing.heldAt = null;
  }

  /**
   * The phrase is over: said whole, or broken off here.
   * @param {boolean} whole
   * @param {number} now
   * @param {number | null} played milliseconds of it that came out, where that is known
   */
  ended(whole, now, played) {
    const playing = this.#playing;
    this.#early = null;
    if (playing === null) return;
    if (whole) {
      this.#heard = Math.max(this.#heard, playing.span[1]);
      const seconds = (played ?? now - playing.since) / 1000;
      if (seconds > 0.5) this.#rate = within(playing.length / seconds, 8, 25);
    } else {
      this.#heard = this.heard(now, played);
    }
    this.#playing = null;
  }

  /**
   * The answer was heard up to here, with what is shown and not said.
   * @param {number} codePoints
   */
  reach(codePoints) {
    this.#heard = Math.max(this.#heard, codePoints);
  }

  /**
   * How far the answer was heard, in its code points; a phrase that still plays is never heard whole.
   * @param {number} now
   * @param {number | null} played milliseconds of the phrase that came out, where that is known
   * @returns {number}
   */
  heard(now, played) {
    const playing = this.#playing;
    if (playing === null) return this.#heard;
    const ms = played ?? (playing.heldAt ?? now) - playing.since;
    const duration = playing.duration ?? (playing.length / this.#rate) * 1000;
    const said = within(ms / Math.max(1, duration), 0, 1);
    const [start, end] = playing.span;
    return Math.max(this.#heard, within(start + Math.floor(said * (end - start)), start, Math.max(start, end - 1)));
  }
}

/**
 * The end of the last word that is complete at an offset: a word that was cut is said again.
 * @param {string} text
 * @param {number} codePoints
 * @returns {number} code points
 */
export function wholeWords(text, codePoints) {
  const at = toUtf16(text, codePoints);
  if (at >= text.length || /\s/.test(text.charAt(at))) return toCodePoints(text, at);
  const space = text.slice(0, at).search(/\s\S*$/);
  return space < 0 ? 0 : toCodePoints(text, space);
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
function within(value, least, most) {
  return Math.min(most, Math.max(least, value));
}
