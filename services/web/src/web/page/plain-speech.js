// Markdown as it is read aloud, character by character while it is still being written.
//
// Marks of emphasis, headings, lists and links go, citations go, code blocks are announced instead of read, a table is
// read row by row with its header. What cannot be told yet (half a link, a line that may become a rule) waits for more,
// so that the result is the same however the text was cut into deltas. The voice gateway's plain_speech.py follows the
// same rule; contracts/examples/phrases.json tests both.

import { AT_ANGLE, AT_CITATION, AT_LINK, AT_WIKILINK, INNER_MARKS, cells, isMark, mayGoOn } from "./marks.js";

/** What is said in place of a block of code. */
export const CODE_BLOCK = "The code is on the page.";
/** A link, a code span or a citation that does not end within so many characters is none. */
const WINDOW = 300;
/** The text of a `Said` that ends whatever was being said: the end of a paragraph, an item, a heading, a row. */
export const BREAK = "\n";

/**
 * A character to say, or `BREAK`, and the UTF-16 offsets of the answer that it stands for.
 * @typedef {object} Said
 * @property {string} text
 * @property {number} start
 * @property {number} end
 * @property {boolean} afterCitation whether a citation stood just before it
 */

const UNSURE = /^\s*(?:>\s*)*(?:[-*+=_#>~`|]*|\d{1,9}[.)]?|[-*+]\s+\[[ xX]?\]?)\s*$/;
const FENCE = /^\s*(`{3,}|~{3,})/;
const RULE = /^\s*(?:-{3,}|\*{3,}|_{3,}|=+)\s*$/;
const PREFIX = /^\s*(?:>\s?)*(?:(?<heading>#{1,6})\s+|(?<item>[-*+]\s+(?:\[[ xX]\]\s+)?)|(?=(?<number>\d{1,9}[.)]\s))|)/;
const SEPARATOR = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const PUNCTUATION = new Set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");

/** What is said of one answer; feed it the answer's deltas. */
export class PlainSpeech {
  #text = "";
  #at = 0;
  #final = false;
  #lineStart = true;
  /** Past the prefix of a line, though that may be empty. */
  #moved = false;
  #heading = false;
  #fence = "";
  #cited = false;
  /** @type {string[] | null} */
  #header = null;
  /** A table's first row, while it may still become its header. @type {[number, number] | null} */
  #row = null;
  #inTable = false;
  /** @type {Said[]} */
  #said = [];

  get text() {
    return this.#text;
  }

  /**
   * What can be said now that `delta` came.
   * @param {string} delta
   */
  feed(delta) {
    this.#text += delta;
    this.#read();
    return this.#given();
  }

  /** What is left; the answer is complete. */
  finish() {
    this.#final = true;
    this.#read();
    this.#endTable();
    return this.#given();
  }

  #given() {
    const said = this.#said;
    this.#said = [];
    return said;
  }

  #read() {
    while (this.#at < this.#text.length) {
      const before = this.#at;
      if (this.#lineStart) this.#line();
      else this.#inline();
      if (this.#at === before && !this.#moved) return;
    }
  }

  /** Decide what kind of line begins here; take it whole where it must be, else its prefix. */
  #line() {
    this.#moved = false;
    const start = this.#at;
    const newline = this.#text.indexOf("\n", start);
    const whole = newline >= 0 || this.#final;
    const end = newline >= 0 ? newline : this.#text.length;
    const line = this.#text.slice(start, end);
    const fence = FENCE.exec(line);
    if (!whole && (this.#fence !== "" || line.startsWith("|") || UNSURE.test(line) || fence !== null)) return;
    const after = Math.min(end + 1, this.#text.length);
    if (this.#fence !== "") {
      if (closes(line.trim(), this.#fence)) this.#fence = "";
      this.#at = after;
      return;
    }
    if (line.trimStart().startsWith("|")) {
      if (!whole) return;
      this.#tableLine(line, start, end);
      this.#at = after;
      return;
    }
    this.#endTable();
    if (line.trim() === "" || RULE.test(line)) {
      this.#break(start);
      this.#at = after;
      return;
    }
    if (fence !== null) {
      this.#break(start);
      this.#sayFor(CODE_BLOCK, start, end);
      this.#break(end);
      this.#fence = /** @type {string} */ (fence[1]);
      this.#at = after;
      return;
    }
    const prefix = /** @type {RegExpExecArray} */ (PREFIX.exec(line));
    const { heading, item, number } = prefix.groups ?? {};
    if (heading || item || number) this.#break(start);
    this.#heading = Boolean(heading);
    this.#at = start + prefix[0].length;
    this.#lineStart = false;
    this.#moved = true;
  }

  #inline() {
    this.#moved = false;
    const at = this.#at;
    const window = this.#text.slice(at, at + WINDOW);
    const newline = window.indexOf("\n");
    const line = newline < 0 ? window : window.slice(0, newline);
    const openEnded = newline < 0 && window.length < WINDOW && !this.#final;
    const character = String.fromCodePoint(/** @type {number} */ (this.#text.codePointAt(at)));
    switch (character) {
      case "\n":
        this.#say(this.#heading ? BREAK : " ", at, at + 1);
        this.#heading = false;
        this.#lineStart = true;
        return;
      case "\\":
        if (window.length > 1) {
          const escaped = PUNCTUATION.has(window.charAt(1)) ? 1 : 0;
          return this.#say(escaped ? window.charAt(1) : "\\", at + escaped, at + escaped + 1);
        }
        if (openEnded) return;
        break;
      case "`":
        return this.#code(at, line, openEnded);
      case "[":
      case "!":
      case "<":
        return this.#bracket(character, at, window, line, openEnded);
      case "*":
      case "_":
      case "~":
        return this.#emphasis(character, at, window, openEnded);
      default:
    }
    this.#say(character, at, at + character.length);
  }

  /**
   * @param {string} text
   * @param {number} start
   * @param {number} end
   */
  #say(text, start, end) {
    this.#at = end;
    this.#said.push({ text, start, end, afterCitation: this.#cited });
    this.#cited = false;
  }

  /** @param {number} at */
  #break(at) {
    this.#said.push({ text: BREAK, start: at, end: at, afterCitation: false });
  }

  /**
   * Say a text in place of `[start, end)`.
   * @param {string} text
   * @param {number} start
   * @param {number} end
   */
  #sayFor(text, start, end) {
    for (const character of text) this.#said.push({ text: character, start, end, afterCitation: false });
  }

  /**
   * Say `[start, end)` without its marks, and go on at `after`.
   * @param {number} start
   * @param {number} end
   * @param {number} after
   */
  #sayPart(start, end, after) {
    const part = this.#text.slice(start, end);
    let from = 0;
    for (const marks of part.matchAll(INNER_MARKS)) {
      this.#verbatim(start + from, start + marks.index);
      from = marks.index + marks[0].length;
    }
    this.#verbatim(start + from, end);
    this.#at = after;
  }

  /**
   * @param {number} at
   * @param {string} line
   * @param {boolean} openEnded
   */
  #code(at, line, openEnded) {
    const run = /** @type {RegExpExecArray} */ (/^`+/.exec(line))[0];
    const closing = new RegExp(`(?<!\`)${run}(?!\`)`, "g");
    closing.lastIndex = run.length;
    const found = closing.exec(line);
    if ((found === null || found.index + run.length === line.length) && openEnded) return;
    if (found === null) {
      this.#at = at + run.length;
      return;
    }
    this.#verbatim(at + run.length, at + found.index);
    this.#at = at + found.index + run.length;
  }

  /**
   * @param {string} opener
   * @param {number} at
   * @param {string} window
   * @param {string} line
   * @param {boolean} openEnded
   */
  #bracket(opener, at, window, line, openEnded) {
    if (opener === "<") return this.#angle(at, window, line, openEnded);
    if (opener === "!" && line.charAt(1) !== "[") {
      if (line.length > 1 || !openEnded) this.#say("!", at, at + 1);
      return;
    }
    if (openEnded && mayGoOn(line)) return;
    const citation = AT_CITATION.exec(line);
    if (citation !== null) {
      this.#at = at + citation[0].length;
      this.#cited = true;
      return;
    }
    const link = AT_WIKILINK.exec(line) ?? AT_LINK.exec(line);
    if (link === null) return this.#say(opener, at, at + 1);
    const groups = link.indices?.groups ?? {};
    const [start, end] = /** @type {[number, number]} */ (link.groups?.["text"] || !groups["name"] ? groups["text"] : groups["name"]);
    this.#sayPart(at + start, at + end, at + link[0].length);
  }

  /**
   * @param {number} at
   * @param {string} window
   * @param {string} line
   * @param {boolean} openEnded
   */
  #angle(at, window, line, openEnded) {
    const angle = AT_ANGLE.exec(window);
    if (angle === null) {
      if (openEnded && !line.includes(">") && !/^[\s\d]$/.test(line.charAt(1))) return;
      return this.#say("<", at, at + 1);
    }
    const address = angle.indices?.groups?.["address"];
    if (address === undefined) return this.#say(" ", at, at + angle[0].length);
    this.#verbatim(at + address[0], at + address[1]);
    this.#at = at + angle[0].length;
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  #verbatim(start, end) {
    let at = start;
    for (const character of this.#text.slice(start, end)) {
      this.#say(character, at, at + character.length);
      at += character.length;
    }
  }

  /**
   * @param {string} mark
   * @param {number} at
   * @param {string} window
   * @param {boolean} openEnded
   */
  #emphasis(mark, at, window, openEnded) {
    let length = 1;
    while (window.charAt(length) === mark) length += 1;
    if (length === window.length && openEnded) return;
    const before = Array.from(this.#text.slice(Math.max(0, at - 2), at)).at(-1) ?? "";
    const after = Array.from(this.#text.slice(at + length, at + length + 2))[0] ?? "";
    if (isMark(mark, length, before, after)) this.#at = at + length;
    else this.#verbatim(at, at + length);
  }

  /**
   * @param {string} line
   * @param {number} start
   * @param {number} end
   */
  #tableLine(line, start, end) {
    if (!this.#inTable) {
      this.#inTable = true;
      this.#row = [start, end];
    } else if (this.#row !== null && SEPARATOR.test(line)) {
      this.#header = cells(this.#text.slice(...this.#row));
      this.#row = null;
    } else {
      this.#sayFirstRow();
      this.#sayRow(start, end);
    }
  }

  #endTable() {
    this.#sayFirstRow();
    this.#inTable = false;
    this.#header = null;
  }

  #sayFirstRow() {
    const row = this.#row;
    this.#row = null;
    if (row !== null) this.#sayRow(...row);
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  #sayRow(start, end) {
    const row = cells(this.#text.slice(start, end));
    const names = this.#header?.length === row.length ? this.#header : [];
    const parts = row.map((cell, at) => (cell === "" || at === 0 ? cell : `${names[at] ?? ""} ${cell}`.trim())).filter(Boolean);
    this.#break(start);
    if (parts.length > 0) this.#sayFor(`${parts.join(", ").replace(/\.+$/, "")}.`, start, end);
    this.#break(end);
  }
}

/**
 * @param {string} line without white space around it
 * @param {string} fence
 */
function closes(line, fence) {
  return line.startsWith(fence) && line.split("").every((character) => character === fence.charAt(0));
}
