// What is remembered of the person who calls: shown when it is asked for, and erased.

import { byId, fill, h } from "./dom.js";

/**
 * @typedef {object} RememberedNeeds
 * @property {() => Promise<string[]>} facts that the person said of themselves, the newest first
 * @property {() => Promise<unknown>} forget
 */

export class Remembered {
  /** @param {RememberedNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    byId("remembered").addEventListener("toggle", () => {
      if (/** @type {HTMLDetailsElement} */ (byId("remembered")).open) void this.#look();
    });
    byId("forget").addEventListener("click", () => void this.#forget());
  }

  async #look() {
    try {
      const facts = await this.needs.facts();
      fill(byId("remembered-facts"), ...facts.map((fact) => h("li", {}, fact)));
      fill(byId("remembered-words"), facts.length === 0 && "You said nothing of yourself in a call that the server holds.");
    } catch (error) {
      fill(byId("remembered-words"), error instanceof Error ? error.message : "It cannot be looked up now.");
    }
  }

  async #forget() {
    try {
      await this.needs.forget();
      fill(byId("remembered-facts"));
      fill(byId("remembered-words"), "It is forgotten, and so is what was asked and answered in those calls.");
    } catch (error) {
      fill(byId("remembered-words"), error instanceof Error ? error.message : "It could not be erased; try again.");
    }
  }
}
