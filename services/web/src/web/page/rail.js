// The rail beside the conversation: the folder, or a source that was opened. On a narrow page it lies over the rest.

import { byId, fill } from "./dom.js";
import { SourcePanel, wantedOf } from "./source.js";
import { linesOf } from "./words.js";

/** @import { Lines, Source, SourceText } from "./wire" */
/** @import { Wanted } from "./source.js" */

export class Rail {
  #wide = matchMedia("(min-width: 66rem)");
  /** @type {HTMLElement | null} */
  #cameFrom = null;
  /** @type {{ source: Source, lines: Lines[] } | null} */
  #spoken = null;

  /** @param {(path: string, version?: string) => Promise<SourceText>} document */
  constructor(document) {
    this.panel = new SourcePanel(document);
    byId("rail-toggle").addEventListener("click", () => {
      this.closeSource();
      this.#open(true);
      byId("folder-title").focus();
    });
    for (const button of globalThis.document.querySelectorAll("[data-close]")) {
      button.addEventListener("click", () =>
        button.getAttribute("data-close") === "source" ? this.closeSource() : this.#close(),
      );
    }
    byId("spoken-open").addEventListener("click", () => {
      if (this.#spoken === null) return;
      const { source, lines } = this.#spoken;
      this.openSource(wantedOf(source, lines), byId("spoken-open"));
    });
    this.#wide.addEventListener("change", () => this.#open(!this.#wide.matches && this.#isOpen));
  }

  get #isOpen() {
    return byId("rail").classList.contains("open");
  }

  /**
   * Show a source, and take the focus to it.
   * @param {Wanted} wanted
   * @param {HTMLElement} from where the focus goes back to
   */
  openSource(wanted, from) {
    this.#cameFrom = from;
    unmark();
    if (from.classList.contains("cite")) from.setAttribute("aria-current", "true");
    byId("folder").hidden = true;
    byId("source").hidden = false;
    this.#open(true);
    byId("source-title").focus();
    void this.panel.show(wanted);
  }

  /** Close the source, if one is open; the focus goes back to where it came from. */
  closeSource() {
    if (byId("source").hidden) return;
    byId("source").hidden = true;
    byId("folder").hidden = false;
    unmark();
    const back = this.#cameFrom;
    this.#cameFrom = null;
    if (back?.classList.contains("file")) return byId("folder-title").focus();
    this.#open(false);
    if (back?.isConnected) back.focus();
  }

  /** Close what lies uppermost; whether there was anything. */
  back() {
    if (!byId("source").hidden) this.closeSource();
    else if (!this.#wide.matches && this.#isOpen) this.#close();
    else return false;
    return true;
  }

  /**
   * Show where what is being said comes from: the rail stays where it is, and so does the focus.
   * @param {{ source: Source, lines: Lines[] } | null} spoken
   */
  speaksFrom(spoken) {
    this.#spoken = spoken;
    const card = byId("spoken-source");
    card.hidden = spoken === null;
    const open = byId("source").hidden ? null : this.panel.path;
    for (const line of byId("source-text").querySelectorAll(".line")) {
      const number = Number(line.getAttribute("data-line"));
      const said = spoken !== null && spoken.source.path === open && spoken.lines.some(([a, b]) => a <= number && number <= b);
      line.toggleAttribute("data-spoken", said);
    }
    if (spoken === null) return;
    const { source, lines } = spoken;
    fill(byId("spoken-open"), source.path);
    const heading = source.heading.length > 0 ? ` · ${source.heading.at(-1)}` : "";
    fill(byId("spoken-where"), `${lines.map(linesOf).join(" and ")}${heading}`);
  }

  #close() {
    this.#open(false);
    byId("rail-toggle").focus();
  }

  /** @param {boolean} open */
  #open(open) {
    const over = open && !this.#wide.matches;
    byId("rail").classList.toggle("open", open);
    byId("rail-toggle").setAttribute("aria-expanded", String(open));
    // Over the conversation the rail is all there is for the keyboard; beside it, both are.
    byId("main").inert = over;
    /** @type {HTMLElement} */ (document.querySelector(".top")).inert = over;
  }
}

function unmark() {
  document.querySelectorAll(".cite[aria-current]").forEach((link) => link.removeAttribute("aria-current"));
}
