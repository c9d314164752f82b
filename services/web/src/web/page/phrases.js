// An answer cut into phrases that can be said, while it is still being written (V4). The local gateway cuts by the same
// rule; contracts/examples/phrases.json holds both to it. Offsets are code points of the answer, as on the wire.
//
// A phrase ends at `.!?` before white space or the end, at `;:` before white space, or where a Markdown block ends; within
// 220 characters, citations not counted. Where there is no such place it ends at the last space from the 80th character
// on, else after 220. What is left is said when the answer is complete.

import { spoken } from "./spoken.js";

/** @import { Span } from "./voice" */

const LONGEST = 220;
const FORCED_FROM = 80;
const CODE = "There is a piece of code here; it is on the page.";
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const MAYBE_FENCE = /^[ \t]*(`{0,2}|~{0,2})$/;
const CITATION = /^\[\d{1,3}\]/;
const MAYBE_CITATION = /^\[\d{0,3}$/;
const OPENS_BLOCK = /^[ \t]*(?:\n|\||#{1,6}[ \t]|[-*+>][ \t]|\d{1,3}[.)][ \t])/;
const MAYBE_OPENS_BLOCK = /^[ \t]*(?:#{0,6}|[-*+>]|\d{1,3}[.)]?)$/;
const LIST_NUMBER = /^\s*\d{1,3}$/;
const SPACE = /\s/;
/** How far a look ahead goes at most. */
const AHEAD = 16;

/** @typedef {{ text: string, span: Span }} Phrase */

/**
 * What of a text may be cut already: its code points without citations, where each stands, and whether it ends for good.
 * @typedef {object} Settled
 * @property {string[]} points
 * @property {number[]} places
 * @property {Set<number>} spaced points that white space follows, though a citation took it along
 * @property {boolean} closed nothing that may still come belongs to it
 */

/** Cuts one answer. */
export class Phrases {
  /** @type {string[]} */
  #rest = [];
  #base = 0;
  #lineStart = true;

  /**
   * The phrases that are complete with this much more of the answer.
   * @param {string} delta
   * @returns {Phrase[]}
   */
  push(delta) {
    for (const point of delta) this.#rest.push(point);
    return this.#cut(false);
  }

  /**
   * The answer is complete: what is left of it.
   * @returns {Phrase[]}
   */
  end() {
    return this.#cut(true);
  }

  /**
   * @param {boolean} complete
   * @returns {Phrase[]}
   */
  #cut(complete) {
    /** @type {Phrase[]} */
    const phrases = [];
    for (;;) {
      if (!this.#skipCitations(complete)) return phrases;
      const fence = this.#lineStart ? this.#fence(complete) : 0;
      if (fence === null) return phrases;
      if (fence > 0) {
        phrases.push({ text: CODE, span: [this.#base, this.#base + fence] });
        this.#take(fence);
        continue;
      }
      const settled = settle(this.#rest, complete);
      const length = endOf(settled);
      if (length === null) return phrases;
      const last = /** @type {number} */ (settled.places[length - 1]);
      const text = spoken(settled.points.slice(0, length).join(""));
      if (text !== "") phrases.push({ text, span: [this.#base, this.#base + last + 1] });
      this.#take(last + 1);
    }
  }

  /** @param {number} count */
  #take(count) {
    for (const point of this.#rest.splice(0, count)) {
      this.#lineStart = point === "\n" || (this.#lineStart && SPACE.test(point));
    }
    this.#base += count;
  }

  #skipSpace() {
    const first = this.#rest.findIndex((point) => !SPACE.test(point));
    this.#take(first < 0 ? this.#rest.length : first);
  }

  /**
   * A phrase begins with a word: citations behind the end of the last one are passed over. False where none begins yet.
   * @param {boolean} complete
   */
  #skipCitations(complete) {
    for (;;) {
      this.#skipSpace();
      const next = ahead(this.#rest, 0);
      const citation = CITATION.exec(next);
      if (citation === null) return next !== "" && (complete || !MAYBE_CITATION.test(next));
      this.#take(citation[0].length);
    }
  }

  /**
   * How long the block of code is that begins here: 0 for none, null while that is not known.
   * @param {boolean} complete
   */
  #fence(complete) {
    const opening = FENCE.exec(ahead(this.#rest, 0));
    if (opening === null) return !complete && MAYBE_FENCE.test(this.#rest.join("")) ? null : 0;
    const mark = /** @type {string} */ (opening[1]);
    const text = this.#rest.join("");
    const closing = new RegExp(`\\n[ \\t]*${mark}[^\\n]*(\\n|$)`).exec(text);
    if (closing !== null && (complete || closing[1] === "\n")) {
      return Array.from(text.slice(0, closing.index + closing[0].trimEnd().length)).length;
    }
    return complete ? this.#rest.length : null;
  }
}

/**
 * @param {string[]} rest
 * @param {boolean} complete
 * @returns {Settled}
 */
function settle(rest, complete) {
  /** @type {Settled} */
  const settled = { points: [], places: [], spaced: new Set(), closed: false };
  const { points, places, spaced } = settled;
  let at = 0;
  for (; at < rest.length; at += 1) {
    const point = /** @type {string} */ (rest[at]);
    if (point === "[") {
      const next = ahead(rest, at);
      const citation = CITATION.exec(next);
      if (citation !== null) {
        if (dropSpace(settled)) spaced.add(points.length - 1);
        at += citation[0].length - 1;
        continue;
      }
      if (!complete && MAYBE_CITATION.test(next)) break;
    }
    if (point === "\n") {
      const next = ahead(rest, at + 1);
      if (OPENS_BLOCK.test(next) || FENCE.test(next) || isOwnBlock(points)) return { ...settled, closed: true };
      if (!complete && at + 1 + next.length >= rest.length && (MAYBE_OPENS_BLOCK.test(next) || MAYBE_FENCE.test(next))) break;
    }
    points.push(point);
    places.push(at);
    // Enough to cut from: what follows cannot change where.
    if (points.length > 2 * LONGEST) return settled;
  }
  // White space may still turn out to stand before a citation, which takes it along.
  if (dropSpace(settled)) spaced.add(points.length - 1);
  settled.closed = complete && at >= rest.length;
  return settled;
}

/**
 * Where the phrase ends that begins here: its length in points, or null while that is not known.
 * @param {Settled} settled
 * @returns {number | null}
 */
function endOf({ points, spaced, closed }) {
  let line = 0;
  for (let at = 0; at < Math.min(points.length, LONGEST); at += 1) {
    const point = /** @type {string} */ (points[at]);
    if (point === "\n") line = at + 1;
    const isLast = at + 1 === points.length;
    const beforeSpace = spaced.has(at) || (!isLast && SPACE.test(/** @type {string} */ (points[at + 1])));
    if (".!?".includes(point) && (beforeSpace || (isLast && closed))) {
      if (!(point === "." && beforeSpace && LIST_NUMBER.test(points.slice(line, at).join("")))) return at + 1;
    }
    if (";:".includes(point) && beforeSpace) return at + 1;
  }
  if (points.length > LONGEST) {
    for (let at = LONGEST; at >= FORCED_FROM; at -= 1) {
      if (SPACE.test(/** @type {string} */ (points[at]))) return at;
    }
    return LONGEST;
  }
  return closed && points.length > 0 ? points.length : null;
}

/**
 * Whether the last line is a heading or a row of a table, which end with their line.
 * @param {string[]} points
 */
function isOwnBlock(points) {
  const start = points.lastIndexOf("\n") + 1;
  return /^[ \t]*(?:#{1,6}[ \t]|\|)/.test(points.slice(start, start + AHEAD).join(""));
}

/**
 * Take the white space off the end; whether there was any.
 * @param {Settled} settled
 */
function dropSpace({ points, places }) {
  const before = points.length;
  while (points.length > 0 && SPACE.test(/** @type {string} */ (points.at(-1)))) {
    points.pop();
    places.pop();
  }
  return points.length < before;
}

/**
 * @param {string[]} points
 * @param {number} from
 */
function ahead(points, from) {
  return points.slice(from, from + AHEAD).join("");
}
