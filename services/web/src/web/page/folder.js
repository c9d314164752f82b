// The folder panel: every file and what became of it, how fresh it is, what leaves the machine, what was given up.

import { byId, fill, h } from "./dom.js";
import {
  ago,
  answersLine,
  corpusLine,
  counted,
  folderName,
  leavingLines,
  modeLine,
  reported,
  searchLine,
  sized,
} from "./words.js";

/** @import { Corpus, CorpusFile, DeadLetter, RefreshReport } from "./wire" */

const SHOWN = 200;
const ORDER = { rejected: 0, waiting: 1, current: 2 };
const STATES = { ready: "ready", starting: "starting", restarting: "restarting", down: "down" };

/**
 * @typedef {object} FolderNeeds
 * @property {() => Promise<Corpus>} corpus
 * @property {() => Promise<RefreshReport>} refresh
 * @property {() => Promise<DeadLetter[]>} deadLetters
 * @property {(id: string) => Promise<unknown>} replay
 * @property {(path: string, from: HTMLElement) => void} openFile
 * @property {(corpus: Corpus | null, notices: string[]) => void} changed
 */

export class FolderPanel {
  /** @type {Corpus | null} */
  corpus = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {FolderNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    byId("refresh").addEventListener("click", () => void this.#refresh());
    byId("file-filter").addEventListener("input", () => this.#files());
    document.addEventListener("visibilitychange", () => document.hidden || void this.look());
  }

  /** Ask now, and again in a while: sooner while something is going on, later for a large folder or a hidden page. */
  async look() {
    clearTimeout(this.#timer);
    let pause = 4000;
    try {
      this.corpus = await this.needs.corpus();
      this.#show(this.corpus);
      this.needs.changed(this.corpus, this.corpus.notices);
      if (this.corpus.state === "building" || this.corpus.files.some((file) => file.state === "waiting")) pause = 1000;
      if (this.corpus.files.length > 2000) pause = 15_000;
      await this.#letters();
    } catch (error) {
      this.needs.changed(null, [error instanceof Error ? error.message : "Talkdown does not answer."]);
      pause = 2000;
    }
    this.#timer = setTimeout(() => void this.look(), document.hidden ? 60_000 : pause);
  }

  /** @param {Corpus} corpus */
  #show(corpus) {
    byId("state-dot").dataset.state = corpus.state;
    fill(byId("state-words"), h("span", { class: "folder-name" }, `${folderName(corpus)} · `), corpusLine(corpus));
    fill(byId("mode"), modeLine(corpus));
    fill(byId("folder-path"), corpus.folder);
    this.#progress(corpus);
    this.#facts(corpus);
    fill(byId("leaves"), ...leavingLines(corpus).map((line) => h("li", {}, line)));
    fill(
      byId("services"),
      ...corpus.services.map((one) =>
        h("li", {}, `${one.name}: ${STATES[one.state]}`, one.detail && h("small", {}, one.detail)),
      ),
    );
    this.#files();
  }

  /** @param {Corpus} corpus */
  #progress({ progress, state }) {
    byId("progress").hidden = progress === null;
    if (progress === null) return;
    const bar = /** @type {HTMLProgressElement} */ (byId("progress-bar"));
    bar.max = Math.max(1, progress.documents);
    bar.value = progress.staged;
    const first = state === "building" ? " You can ask already; what is read is found." : "";
    fill(byId("progress-words"), `${progress.staged} of ${counted(progress.documents, "note")} read.${first}`);
  }

  /** @param {Corpus} corpus */
  #facts(corpus) {
    const report = corpus.last_refresh;
    /** @type {[string, string][]} */
    const facts = [
      ["Notes", `${counted(corpus.documents, "note")}, ${counted(corpus.chunks, "passage")}`],
      ["Watching", corpus.watching === "events" ? "each save is seen at once" : "by looking again and again"],
      ["Search", searchLine(corpus)],
      ["Answers", answersLine(corpus)],
    ];
    if (report) facts.splice(1, 0, ["Last change", ago(report.finished_at, Date.now())]);
    if (report?.status === "failed") facts.push(["Last refresh", reported(report)]);
    fill(byId("facts"), ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  #files() {
    const files = this.corpus?.files ?? [];
    const filter = /** @type {HTMLInputElement} */ (byId("file-filter"));
    filter.hidden = files.length <= 12 && filter.value === "";
    const words = filter.value.trim().toLowerCase();
    const chosen = files
      .filter((file) => file.path.toLowerCase().includes(words))
      .sort((a, b) => ORDER[a.state] - ORDER[b.state] || a.path.localeCompare(b.path));
    const held = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.path : undefined;
    fill(byId("files"), ...chosen.slice(0, SHOWN).map((file) => this.#file(file)));
    if (held !== undefined) {
      /** @type {HTMLElement | null} */ (byId("files").querySelector(`[data-path="${CSS.escape(held)}"]`))?.focus();
    }
    const more = chosen.length - SHOWN;
    byId("files-more").hidden = more <= 0 && chosen.length > 0;
    const none = words ? "No file has this in its name." : "No Markdown here yet. Save a .md file into the folder.";
    fill(byId("files-more"), chosen.length === 0 ? none : `and ${counted(more, "more file")}; find one above.`);
  }

  /** @param {CorpusFile} file */
  #file(file) {
    const readable = file.state !== "rejected" && file.chunks > 0;
    const saved = file.saved_at ? `saved ${ago(file.saved_at, Date.now())}` : "";
    const facts = [counted(file.chunks, "passage"), sized(file.bytes), saved].filter(Boolean).join(" · ");
    const words = file.state === "rejected" ? `Rejected: ${file.reason}` : (file.reason ?? "Being read…");
    return h(
      "li",
      { "data-state": file.state },
      readable
        ? h(
            "button",
            {
              class: "file",
              type: "button",
              "data-path": file.path,
              onclick: (/** @type {MouseEvent} */ event) =>
                this.needs.openFile(file.path, /** @type {HTMLElement} */ (event.currentTarget)),
            },
            file.path,
          )
        : h("span", { class: "file" }, file.path),
      h("small", {}, file.state === "current" ? facts : words),
    );
  }

  async #letters() {
    const letters = await this.needs.deadLetters();
    byId("dead").hidden = letters.length === 0;
    fill(byId("dead-letters"), ...letters.map((letter) => this.#letter(letter)));
  }

  /** @param {DeadLetter} letter */
  #letter(letter) {
    const again = async (/** @type {MouseEvent} */ event) => {
      /** @type {HTMLButtonElement} */ (event.currentTarget).disabled = true;
      try {
        await this.needs.replay(letter.id);
      } finally {
        await this.look();
      }
    };
    const what = `${letter.type}, after ${counted(letter.attempts, "try", "tries")}, ${ago(letter.died_at, Date.now())}`;
    return h(
      "li",
      {},
      h("div", {}, letter.reason, h("small", {}, what)),
      h("button", { type: "button", "aria-label": `Try again: ${letter.type}`, onclick: again }, "Try again"),
    );
  }

  async #refresh() {
    const button = /** @type {HTMLButtonElement} */ (byId("refresh"));
    button.disabled = true;
    fill(byId("refresh-report"), "Looking through the folder…");
    try {
      fill(byId("refresh-report"), reported(await this.needs.refresh()));
    } catch (error) {
      fill(byId("refresh-report"), error instanceof Error ? error.message : "It could not be refreshed.");
    }
    button.disabled = false;
    await this.look();
  }
}
