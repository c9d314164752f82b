// An answer cut into phrases to be spoken, while it is still being written (V4).
//
// A phrase ends at `.!?` before white space or the end, or at `;:` before white space, within 220 characters; else at the
// last space from the 80th on; else there. A paragraph, a list item, a heading and a table row end one too. A full stop
// after an abbreviation, an initial, or the number of a list item ends nothing. The voice gateway cuts by the same rule,
// so that the next phrase is ready there before it is asked for: contracts/examples/phrases.json tests both.

import { toCodePoints } from "./offsets.js";
import { BREAK, PlainSpeech } from "./plain-speech.js";

/** @import { Said } from "./plain-speech.js" */
/** @import { Span } from "./voice" */

const LONGEST = 220;
/** Of a phrase that is cut at a space for want of anything better. */
const SHORTEST = 80;
/** Lower case, without their full stop. */
export const ABBREVIATIONS = new Set(
  "mr mrs ms dr prof st sr jr vs etc approx cf al fig figs eq nos vol inc ltd corp dept est".split(" "),
);

const CLOSERS = /["'”’»)\]]+$/;
const WIDE_CLOSERS = /["'”’»)\]」』）]+$/;
const OPENERS = /^["'“‘«([`]+/;
const WIDE_STOPS = "。！？";
const STAYS_WITH_WIDE = `${WIDE_STOPS}"'”’»)]」』）`;
const INITIALS = /^(?:\p{L}\.)+$/u;
const LIST_NUMBER = /^\d{1,9}[.)]$/;
const SPACE = /^\s+$/;
const SAYS_SOMETHING = /[\p{L}\p{N}]/u;

/**
 * A phrase as it is spoken, and the code points of the answer that it stands for.
 * @typedef {{ text: string, span: Span }} Phrase
 */

/** The phrases of one answer; push its deltas. */
export class Phrases {
  #plain = new PlainSpeech();
  /** @type {Said[]} */
  #said = [];
  /** White space that is said once something follows it. @type {Said | null} */
  #space = null;
  /** @type {Phrase[]} */
  #given = [];
  #counted = { utf16: 0, codePoints: 0 };

  /**
   * The phrases that `delta` completes.
   * @param {string} delta
   * @returns {Phrase[]}
   */
  push(delta) {
    for (const said of this.#plain.feed(delta)) this.#cut(said);
    return this.#give();
  }

  /**
   * The phrases that are left; the answer is complete.
   * @returns {Phrase[]}
   */
  end() {
    for (const said of this.#plain.finish()) this.#cut(said);
    this.#end();
    return this.#give();
  }

  #give() {
    const given = this.#given;
    this.#given = [];
    return given;
  }

  /** @param {Said} said */
  #cut(said) {
    if (said.text === BREAK) {
      this.#end();
    } else if (SPACE.test(said.text)) {
      if (this.#said.length === 0) return;
      this.#space ??= said;
      if (ends(textOf(this.#said))) this.#end();
    } else {
      this.#add(said);
    }
  }

  /** @param {Said} said */
  #add(said) {
    if (this.#said.length > 0 && !STAYS_WITH_WIDE.includes(said.text) && endsWide(textOf(this.#said))) this.#end();
    if (this.#space !== null) {
      // "recovered [1]." reads "recovered."
      if (!(said.afterCitation && ".,;:!?".includes(said.text))) this.#said.push(this.#space);
      this.#space = null;
    }
    this.#said.push(said);
    while (this.#said.length > LONGEST) this.#end(this.#lastSpace());
  }

  #lastSpace() {
    for (let place = LONGEST; place >= SHORTEST; place -= 1) {
      if (SPACE.test(/** @type {Said} */ (this.#said[place]).text)) return place;
    }
    return LONGEST;
  }

  /**
   * Give what was said up to `length`, if there is a letter or a number in it.
   * @param {number} [length]
   */
  #end(length) {
    if (length === undefined) this.#space = null;
    const whole = this.#said.slice(0, length);
    const rest = length === undefined ? [] : this.#said.slice(length);
    const first = rest.findIndex(({ text }) => !SPACE.test(text));
    this.#said = first < 0 ? [] : rest.slice(first);
    const text = textOf(whole);
    if (!SAYS_SOMETHING.test(text)) return;
    const start = this.#codePoints(/** @type {Said} */ (whole[0]).start);
    const end = this.#codePoints(/** @type {Said} */ (whole.at(-1)).end);
    this.#given.push({ text, span: [start, end] });
  }

  /** @param {number} utf16 */
  #codePoints(utf16) {
    // Rows of a table are counted from their start again.
    const known = utf16 >= this.#counted.utf16 ? this.#counted : { utf16: 0, codePoints: 0 };
    const more = this.#plain.text.slice(known.utf16, utf16);
    this.#counted = { utf16, codePoints: known.codePoints + toCodePoints(more, more.length) };
    return this.#counted.codePoints;
  }
}

/** @param {Said[]} said */
function textOf(said) {
  return said.map(({ text }) => (SPACE.test(text) ? " " : text)).join("");
}

/**
 * Whether a phrase ends where white space follows `text`.
 * @param {string} text
 */
function ends(text) {
  const bare = text.replace(CLOSERS, "");
  const last = bare.at(-1) ?? "";
  if (last === "" || !".!?;:".includes(last)) return false;
  if (last === ";" || last === ":") return bare === text;
  if (last !== "." || bare.endsWith("..")) return true;
  const word = bare.slice(bare.lastIndexOf(" ") + 1).replace(OPENERS, "");
  const listed = word === bare && LIST_NUMBER.test(word);
  return !(listed || ABBREVIATIONS.has(word.slice(0, -1).toLowerCase()) || INITIALS.test(word));
}

/**
 * Whether `text` ends with a full stop of a script that puts no space after it.
 * @param {string} text
 */
function endsWide(text) {
  const last = text.replace(WIDE_CLOSERS, "").at(-1) ?? "";
  return last !== "" && WIDE_STOPS.includes(last);
}
