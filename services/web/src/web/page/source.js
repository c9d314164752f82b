// The source panel: a document with its line numbers, the lines that an answer rests on lit.

import { Refused } from "./client.js";
import { byId, fill, h } from "./dom.js";
import { linesOf } from "./words.js";

/** @import { Lines, Source, SourceText } from "./wire" */

/**
 * @typedef {object} Wanted
 * @property {string} path
 * @property {string} [version] of the document that was quoted
 * @property {Lines} [passage] the lines of the whole passage
 * @property {Lines[]} lit the lines that a sentence rests on
 * @property {string} [text] the passage as it was quoted
 */

/**
 * Where a line belongs: among those that are lit, in the passage around them, or to neither.
 * @param {number} line 1-based
 * @param {Lines[]} lit
 * @param {Lines | undefined} passage
 * @returns {"lines" | "passage" | null}
 */
export function lightOf(line, lit, passage) {
  const within = (/** @type {Lines} */ [first, last]) => line >= first && line <= last;
  if (lit.some(within)) return "lines";
  return passage !== undefined && within(passage) ? "passage" : null;
}

/**
 * What to show of a source that a sentence, or only its passage, points at.
 * @param {Source} source
 * @param {Lines[]} lit
 * @returns {Wanted}
 */
export function wantedOf(source, lit) {
  const { path, version, lines, text } = source;
  return { path, version, passage: lines, lit: lit.length > 0 ? lit : [lines], text };
}

export class SourcePanel {
  #asked = 0;
  /** Of the document that is shown. */
  path = "";

  /** @param {(path: string, version?: string) => Promise<SourceText>} document */
  constructor(document) {
    this.document = document;
  }

  /** @param {Wanted} wanted */
  async show(wanted) {
    const asked = (this.#asked += 1);
    this.path = wanted.path;
    const name = wanted.path.split("/").at(-1);
    fill(byId("source-title"), name);
    fill(byId("source-where"), wanted.path);
    byId("source-where").hidden = wanted.path === name;
    this.#note("Opening…");
    fill(byId("source-text"));
    try {
      const found = await this.document(wanted.path, wanted.version);
      if (asked !== this.#asked) return;
      this.#fill(found, wanted);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#quote(error, wanted);
    }
  }

  /**
   * @param {SourceText} found
   * @param {Wanted} wanted
   */
  #fill(found, { lit, passage }) {
    const lines = found.text.split(/\r\n|\n|\r/);
    if (lines.at(-1) === "") lines.pop();
    fill(byId("source-text"), ...lines.map((text, at) => lineOf(at + 1, text, lightOf(at + 1, lit, passage))));
    if (found.changed) this.#note("This note has changed since the answer, so its lines may have moved.", "changed");
    else this.#note(lit.length > 0 ? `The answer rests on ${lit.map(linesOf).join(" and ")}.` : "");
    const first = byId("source-text").querySelector("[data-lit='lines']");
    const rail = byId("rail");
    if (first) rail.scrollTop += first.getBoundingClientRect().top - rail.getBoundingClientRect().top - rail.clientHeight / 3;
    else rail.scrollTop = 0;
  }

  /**
   * The document cannot be shown: what was quoted of it can.
   * @param {unknown} error
   * @param {Wanted} wanted
   */
  #quote(error, { text, passage, lit }) {
    const gone = error instanceof Refused && error.status === 404;
    const why = gone ? "This note is no longer in the folder." : error instanceof Error ? error.message : "It cannot be opened.";
    this.#note(text === undefined ? why : `${why} This is what the answer read of it.`, "changed");
    if (text === undefined) return;
    const from = passage?.[0] ?? 1;
    // What was quoted is plain text: its lines stand for themselves, and are all lit.
    fill(byId("source-text"), ...text.split("\n").map((line, at) => lineOf(from + at, line, lit.length > 0 ? "lines" : null)));
  }

  /**
   * @param {string} words
   * @param {string} [kind]
   */
  #note(words, kind = "") {
    byId("source-note").dataset.kind = kind;
    fill(byId("source-note"), words);
  }
}

/**
 * @param {number} number
 * @param {string} text
 * @param {string | null} lit
 */
function lineOf(number, text, lit) {
  return h(
    "div",
    { class: "line", "data-lit": lit, "data-line": number, "data-kind": /^#{1,6} /.test(text) && "heading" },
    h("span", { class: "line-number", "aria-hidden": "true" }, number),
    h("span", { class: "line-text" }, lit === "lines" && h("span", { class: "unseen" }, `Line ${number}, cited: `), text),
  );
}
