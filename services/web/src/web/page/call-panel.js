// What a call looks like: the orb, the words beside it, what is heard and said, and what went wrong.

import { doingLine, liveLine, orbState } from "./call-words.js";
import { byId, fill } from "./dom.js";
import { presence } from "./words.js";

/** @import { Talk } from "./call-words.js" */
/** @import { Connection, Levels } from "./voice" */
/** @import { Stage } from "./frames.js" */

/**
 * @typedef {object} Shown
 * @property {Stage | null} stage of the turn that runs
 * @property {Connection} connection
 * @property {boolean} speaks whether the call has a voice
 * @property {boolean} waking whether the voice is still getting ready
 * @property {boolean} lost
 * @property {Talk} talk
 * @property {string} said the last utterance
 * @property {string} aside what was said and asked nothing, for a while
 * @property {{ words: string, remedy: string | null } | null} note
 */

const NARROW = matchMedia("(max-width: 40rem)");
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/** Levels are shown at 30 frames a second at most, in steps that can be seen. */
const PAUSE_MS = 1000 / 60;
const STEPS = 40;

export class CallPanel {
  #drawing = false;

  /**
   * @param {() => Levels | null} levels of the call that stands
   * @param {(levels: Levels, now: number) => void} heard told at every frame
   */
  constructor(levels, heard) {
    this.levels = levels;
    this.heard = heard;
  }

  /** @param {Shown} shown */
  show({ stage, connection, speaks, waking, lost, talk, said, aside, note }) {
    document.body.classList.toggle("calling", speaks);
    byId("orb").dataset.state = orbState(connection, stage);
    const words = byId("presence-words");
    words.classList.toggle("failed", !lost && orbState(connection, stage) === "failed");
    // While a voice speaks and listens, its every state would be read into the conversation.
    words.setAttribute("aria-live", speaks && connection.kind === "on" ? "off" : "polite");
    const doing = connection.kind === "on" && connection.doing.kind !== "silent" ? connection.doing : null;
    fill(words, doing !== null && !lost ? doingLine(doing, stage, talk, aside) : presence(stage, connection, lost, waking));
    this.#live(speaks, liveLine(connection, said, NARROW.matches ? 64 : 150));
    byId("call-note").hidden = note === null;
    fill(byId("call-note-words"), note?.words ?? "");
    byId("call-remedy").hidden = !note?.remedy;
    fill(byId("call-remedy"), note?.remedy ?? "");
    if (this.levels() !== null && !this.#drawing) this.#draw();
  }

  /**
   * @param {boolean} speaks
   * @param {ReturnType<typeof liveLine>} line
   */
  #live(speaks, line) {
    byId("live").hidden = !speaks;
    byId("live").dataset.who = line?.who ?? "";
    fill(byId("live-who"), line && `${line.who}:`);
    fill(byId("live-words"), line?.words);
  }

  /**
   * Every change is a frame that the whole page is drawn for: only what can be seen is one.
   * @param {string} id
   * @param {number} level
   */
  #level(id, level) {
    const style = byId(id).style;
    const shown = (Math.round(level * STEPS) / STEPS).toFixed(2);
    if (style.getPropertyValue("--level") !== shown) style.setProperty("--level", shown);
  }

  #draw() {
    const levels = this.levels();
    this.#drawing = levels !== null;
    if (levels === null) {
      byId("orb").style.removeProperty("--level");
      return;
    }
    if (!STILL.matches) {
      this.#level("orb", levels.agent);
      this.#level("mute", levels.microphone);
    }
    this.heard(levels, performance.now());
    setTimeout(() => requestAnimationFrame(() => this.#draw()), PAUSE_MS);
  }
}
