// How a call's sound travels, and who answers in it: the person's choices, and what the server offers.

import { byId, fill, h } from "./dom.js";
import { BROWSER, keep, kept } from "./kept.js";
import { wayOf } from "./words.js";

/** @import { LiveOffer } from "./live" */

const NONE = /** @type {LiveOffer} */ ({ orchestrators: [], providers: [], scenarios: [], leaves: [], problem: null });

export class Through {
  /** @type {LiveOffer} */
  #offer = NONE;

  /**
   * @param {() => Promise<LiveOffer>} offer
   * @param {() => void} changed
   */
  constructor(offer, changed) {
    this.offer = offer;
    this.changed = changed;
    byId("through").addEventListener("change", () => {
      keep(BROWSER, "through", select("through").value || null);
      this.#show();
    });
    byId("orchestrator").addEventListener("change", () => {
      keep(BROWSER, "orchestrator", select("orchestrator").value);
      this.#show();
    });
  }

  /** Learn what the server offers; one that does not answer offers nothing new. */
  async look() {
    this.#offer = await this.offer().catch(() => this.#offer);
    this.#show();
    this.changed();
  }

  /** Whether the server holds sessions at all. */
  get offered() {
    return this.#offer.orchestrators.length > 0;
  }

  /** Whether the person wants the server to hold their calls. */
  get chosen() {
    return this.offered && kept(BROWSER, "through") === "server";
  }

  /** Who answers in a call that the server holds; null leaves it to the server. */
  get orchestrator() {
    const chosen = kept(BROWSER, "orchestrator");
    return chosen !== null && this.#offer.orchestrators.includes(chosen) ? chosen : null;
  }

  /**
   * Whether more than one agent may have the floor in a scenario.
   * @param {string | null} agent
   */
  severalWith(agent) {
    return this.#offer.scenarios.some(({ agents }) => agents.length > 1 && agent !== null && agents.includes(agent));
  }

  #show() {
    const { orchestrators } = this.#offer;
    const ways = orchestrators.map((name) => ({ name, ...wayOf(name, this.#offer) }));
    byId("through-setting").hidden = !this.offered;
    select("through").value = this.chosen ? "server" : "";
    byId("orchestrator-setting").hidden = !this.chosen || (ways.length < 2 && ways.every(({ checked }) => checked));
    fill(byId("orchestrator"), ...ways.map(({ name, label }) => h("option", { value: name }, label)));
    select("orchestrator").value = this.orchestrator ?? orchestrators[0] ?? "";
    fill(byId("orchestrator-help"), ways.find(({ name }) => name === select("orchestrator").value)?.help);
  }
}

/**
 * @param {string} id
 * @returns {HTMLSelectElement}
 */
function select(id) {
  return byId(id);
}
