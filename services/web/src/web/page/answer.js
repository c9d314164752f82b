// One question and its answer, as nodes. Sentences that are complete are written once; only the tail is written again.

import { pieces, placesOf, settled, spoken } from "./citations.js";
import { fill, h } from "./dom.js";
import { ENDED } from "./frames.js";
import { toUtf16 } from "./offsets.js";
import { dark, light, standBack } from "./spotlight.js";
import { timelineView } from "./timeline-view.js";
import { counted, linesOf, passagesLine } from "./words.js";

/** @import { Turn } from "./frames.js" */
/** @import { Moments } from "./timeline.js" */
/** @import { Span } from "./voice" */
/** @import { Lines, Sentence, Source } from "./wire" */

/**
 * @typedef {object} AnswerNeeds
 * @property {(source: Source, lit: Lines[], from: HTMLElement) => void} openSource
 * @property {(question: string) => void} askAgain
 * @property {(turnId: string) => void} stop
 * @property {(traceId: string) => string | null} traceLink
 * @property {(text: string) => void} say a complete sentence, for who cannot see it
 * @property {() => void} aloud let a voice say the answer again
 */

/** @type {Record<number, string>} */
const SUPPORTED = { 1: "The sentence has", 2: "Both sentences have" };

const UNCHECKED = "Written by a model; no sources were checked.";

export class AnswerView {
  #written = { version: -1, sentences: 0, end: 0, codePoints: 0 };
  #stage = "";
  /** @type {string | null} */
  #turnId = null;
  #sources = 0;
  /** @type {number | null} */
  #heard = null;
  /** @type {string | null} */
  #trace = null;

  /**
   * @param {string} question
   * @param {AnswerNeeds} needs
   */
  constructor(question, needs) {
    this.needs = needs;
    this.answer = h("div", { class: "answer" });
    this.tail = h("span", { class: "tail" });
    this.meta = h("div", { class: "meta" });
    this.trouble = h("div");
    this.looked = h("summary");
    this.list = h("ol");
    this.passages = h("details", { class: "passages", hidden: true }, this.looked, this.list);
    this.timeline = h("div", { class: "timeline-place" });
    this.question = h("h3", { class: "question" }, question);
    this.element = h(
      "li",
      { class: "turn" },
      this.question,
      this.answer,
      this.trouble,
      this.meta,
      this.passages,
      this.timeline,
    );
  }

  /**
   * What was asked became known later.
   * @param {string} question
   */
  ask(question) {
    fill(this.question, question);
  }

  /** @param {Turn} turn */
  show(turn) {
    this.#write(turn);
    if (turn.heard !== null && ENDED.has(turn.stage)) standBack(this.answer, turn.text, turn.heard);
    const trace = turn.traceId === null ? null : this.needs.traceLink(turn.traceId);
    if (
      turn.stage !== this.#stage ||
      turn.sources.length !== this.#sources ||
      turn.turnId !== this.#turnId ||
      turn.heard !== this.#heard ||
      trace !== this.#trace
    ) {
      this.#trace = trace;
      this.#stage = turn.stage;
      this.#turnId = turn.turnId;
      this.#heard = turn.heard;
      this.#sources = turn.sources.length;
      this.element.dataset.stage = turn.stage;
      this.element.toggleAttribute("aria-busy", !ENDED.has(turn.stage));
      this.#showMeta(turn);
      this.#showTrouble(turn);
      this.#showPassages(turn);
    }
  }

  /**
   * Light what is being said of the answer, and mark what it is cited from.
   * @param {Turn} turn
   * @param {Span | null} span code points; null when nothing of it is said
   * @param {number} heard code points of the answer
   * @returns {{ source: Source, lines: Lines[] } | null} what the sentence that is said rests on
   */
  spoken(turn, span, heard) {
    this.element.toggleAttribute("data-spoken", span !== null);
    this.answer.querySelectorAll("[data-spoken]").forEach((part) => part.removeAttribute("data-spoken"));
    if (span === null) {
      dark();
      return null;
    }
    light(this.answer, turn.text, span, heard);
    // A phrase may be longer than a sentence or shorter: the sentence that is being heard is the one that counts.
    const reached = Math.min(Math.max(heard, span[0]), span[1] - 1);
    const at = turn.sentences.findIndex(({ span: [start, end] }) => start <= reached && reached < end);
    const sentence = turn.sentences[at];
    if (sentence === undefined) return null;
    const shown = this.answer.querySelectorAll(".sentence")[at];
    shown?.setAttribute("data-spoken", "");
    shown?.querySelectorAll(".cite").forEach((link) => link.setAttribute("data-spoken", ""));
    const [first] = sentence.support;
    const source = turn.sources.find(({ id }) => id === first?.source_id);
    if (first === undefined || source === undefined) return null;
    return { source, lines: sentence.support.filter((one) => one.source_id === first.source_id).map((one) => one.lines) };
  }

  /**
   * Show where the time of the answer went, once its first sound was heard.
   * @param {Moments} moments
   */
  timed(moments) {
    const view = timelineView(moments);
    if (view !== null) fill(this.timeline, view);
  }

  /** @param {Turn} turn */
  #write(turn) {
    const written = this.#written;
    if (turn.version !== written.version) {
      this.answer.replaceChildren(this.tail);
      Object.assign(written, { version: turn.version, sentences: 0, end: 0, codePoints: 0 });
    }
    for (const sentence of turn.sentences.slice(written.sentences)) {
      const start = toUtf16(turn.text, sentence.span[0] - written.codePoints, written.end);
      const end = toUtf16(turn.text, sentence.span[1] - sentence.span[0], start);
      this.tail.before(turn.text.slice(written.end, start), this.#sentence(turn, sentence, turn.text.slice(start, end)));
      Object.assign(written, { sentences: written.sentences + 1, end, codePoints: sentence.span[1] });
    }
    const rest = turn.text.slice(written.end);
    fill(this.tail, ...this.#linked(turn, ENDED.has(turn.stage) ? rest : settled(rest), []));
  }

  /**
   * @param {Turn} turn
   * @param {Sentence} sentence
   * @param {string} text
   */
  #sentence(turn, sentence, text) {
    this.needs.say(spoken(text));
    return h(
      "span",
      { class: "sentence", "data-verdict": sentence.verdict },
      ...this.#linked(turn, text, sentence.support),
      sentence.verdict === "unsupported" && h("span", { class: "doubt" }, "no source"),
    );
  }

  /**
   * @param {Turn} turn
   * @param {string} text
   * @param {Sentence["support"]} support
   */
  #linked(turn, text, support) {
    return pieces(text, turn.sources.length).map((piece) => {
      if (piece.kind === "text") return piece.text;
      const source = /** @type {Source} */ (turn.sources[piece.place - 1]);
      const lit = support.filter((one) => one.source_id === source.id).map((one) => one.lines);
      return this.#link(source, lit, "cite", String(piece.place));
    });
  }

  /**
   * @param {Source} source
   * @param {Lines[]} lit
   * @param {string} kind
   * @param {string} words
   */
  #link(source, lit, kind, words) {
    const shown = lit.length > 0 ? /** @type {Lines} */ (lit[0]) : source.lines;
    const name = `Source ${words}: ${source.path}, ${linesOf(shown)}`;
    return h(
      "a",
      {
        class: kind,
        href: `/api/documents/${source.path.split("/").map(encodeURIComponent).join("/")}`,
        ...(kind === "cite" && { "aria-label": name, title: `${source.path}, ${linesOf(shown)}` }),
        onclick: (/** @type {MouseEvent} */ event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          this.needs.openSource(source, lit, /** @type {HTMLElement} */ (event.currentTarget));
        },
      },
      words,
    );
  }

  /** @param {Turn} turn */
  #showMeta(turn) {
    const link = this.#trace;
    const ended = turn.stage === "done";
    if (ended && turn.abstained) this.answer.querySelectorAll(".doubt").forEach((mark) => mark.remove());
    this.element.toggleAttribute("data-abstained", ended && turn.abstained);
    const { turnId } = turn;
    const verdict = verdictOf(turn);
    const runs = !ENDED.has(turn.stage) && turnId !== null;
    fill(
      this.meta,
      runs && h("button", { class: "small", type: "button", onclick: () => this.needs.stop(turnId) }, "Stop answering"),
      turn.byModel && turnId === null && turn.text !== "" && h("span", { class: "unchecked" }, UNCHECKED),
      ended && verdict !== "" && h("span", {}, verdict),
      ended && turn.heard !== null && h("span", {}, "It was interrupted, and you did not hear the rest."),
      ended && h("button", { class: "small again", type: "button", onclick: this.needs.aloud }, "Say it again"),
      ENDED.has(turn.stage) && link && h("a", { href: link, target: "_blank", rel: "noreferrer" }, ended ? "How it was found" : "What happened"),
    );
  }

  /** @param {Turn} turn */
  #showTrouble(turn) {
    const { problem } = turn;
    if (problem === null) return fill(this.trouble);
    const stopped = turn.stage === "stopped";
    fill(
      this.trouble,
      h(
        "div",
        { class: stopped ? "trouble calm" : "trouble", "data-code": problem.code },
        h("p", {}, problem.message),
        h("button", { type: "button", onclick: () => this.needs.askAgain(turn.question) }, "Ask again"),
      ),
    );
    if (!stopped) this.needs.say(problem.message);
  }

  /** @param {Turn} turn */
  #showPassages(turn) {
    const total = turn.sources.length;
    this.passages.hidden = total === 0;
    if (total === 0) return;
    const cited = ENDED.has(turn.stage) ? placesOf(turn.text, total) : null;
    const places = turn.sources.map((_, at) => at + 1);
    const first = cited ?? [];
    const ordered = [...first, ...places.filter((place) => !first.includes(place))];
    fill(this.looked, passagesLine(cited?.length ?? null, total));
    fill(
      this.list,
      ...ordered.map((place) =>
        this.#passage(/** @type {Source} */ (turn.sources[place - 1]), place, first.includes(place)),
      ),
    );
  }

  /**
   * @param {Source} source
   * @param {number} place
   * @param {boolean} cited
   */
  #passage(source, place, cited) {
    const heading = source.heading.length > 0 ? ` › ${source.heading.join(" › ")}` : "";
    return h(
      "li",
      { "data-cited": cited },
      h(
        "p",
        { class: "where" },
        h("span", { class: "soft" }, `${place} · `),
        this.#link(source, [], "open", `${source.path}, ${linesOf(source.lines)}`),
        h("span", { class: "soft" }, heading),
        cited && h("span", { class: "cited" }, "cited"),
      ),
      h("blockquote", {}, source.text),
    );
  }
}

/** @param {Turn} turn */
function verdictOf(turn) {
  if (turn.abstained) return "Your notes do not hold the answer.";
  const total = turn.sentences.length;
  const supported = turn.sentences.filter((sentence) => sentence.verdict === "supported").length;
  if (total === 0) return "";
  if (supported === total) return `${SUPPORTED[total] ?? `All ${total} sentences have`} a source.`;
  return `${supported} of ${counted(total, "sentence")} ${supported === 1 ? "has" : "have"} a source.`;
}
