// How the person talks in a call: the open microphone with its mute, or push to talk with a key or the button.

import { byId, fill } from "./dom.js";
import { BROWSER, keep, kept } from "./kept.js";

/** @import { Talk } from "./call-words.js" */
/** @import { CallControls } from "./voice" */

/** Where letters are written, and no keys of the page are pressed. */
export const WRITES = "input, select, textarea, [contenteditable]";
const PRESSED = `button, a, summary, ${WRITES}`;

/**
 * @typedef {object} ControlsNeeds
 * @property {() => CallControls | null} call the one that stands, with a voice
 * @property {() => void} changed
 */

export class Controls {
  /** @type {Talk} */
  talk = {
    mode: kept(BROWSER, "talk") === "hold" ? "hold" : "open",
    muted: false,
    held: false,
    touch: matchMedia("(hover: none)").matches,
  };
  /** A press of the button began with a pointer, so the click behind it is not the keyboard's. */
  #pointed = false;

  /** @param {ControlsNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    const hold = byId("hold");
    hold.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.#pointed = true;
      hold.setPointerCapture(event.pointerId);
      this.#press();
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) hold.addEventListener(end, () => this.#release());
    hold.addEventListener("contextmenu", (event) => event.preventDefault());
    // A screen reader clicks and cannot hold: there a click begins, and the next one ends.
    hold.addEventListener("click", () => {
      if (!this.#pointed) this.talk.held ? this.#release() : this.#press();
      this.#pointed = false;
    });
    byId("mute").addEventListener("click", () => this.mute(!this.talk.muted));
    document.addEventListener("keydown", (event) => this.#down(event));
    document.addEventListener("keyup", (event) => {
      if (event.code !== "Space" || !this.talk.held) return;
      event.preventDefault();
      this.#release();
    });
    // Whoever leaves the page with the key down lets it go elsewhere.
    addEventListener("blur", () => this.#release());
    document.addEventListener("visibilitychange", () => document.hidden && this.#release());
  }

  /** A call stands anew: nobody is muted, and no key is held. */
  begin() {
    this.talk = { ...this.talk, muted: false, held: false };
  }

  /** @param {Talk["mode"]} mode */
  choose(mode) {
    if (mode === this.talk.mode) return;
    this.#release();
    keep(BROWSER, "talk", mode);
    this.mute(false);
    this.#show({ mode });
    this.needs.call()?.pushToTalk(mode === "hold");
  }

  /** @param {boolean} muted */
  mute(muted) {
    if (muted === this.talk.muted) return;
    this.needs.call()?.mute(muted);
    this.#show({ muted });
  }

  /** Think better of what is being said; whether anything was. */
  retract() {
    if (!this.talk.held) return false;
    this.needs.call()?.retract();
    this.#show({ held: false });
    return true;
  }

  show() {
    const { mode, muted, held } = this.talk;
    const calling = this.needs.call() !== null;
    byId("hold").hidden = !calling || mode !== "hold";
    byId("hold").toggleAttribute("data-held", held);
    fill(byId("hold"), held ? "Let go to ask" : "Hold to talk");
    byId("mute").hidden = !calling || mode !== "open";
    byId("mute").toggleAttribute("data-muted", muted);
    fill(byId("mute-words"), muted ? "Unmute" : "Mute");
  }

  /** @param {KeyboardEvent} event */
  #down(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.needs.call() === null) return;
    const on = event.target instanceof Element ? event.target : document.body;
    if (event.code === "Space" && this.talk.mode === "hold" && talks(on)) {
      event.preventDefault();
      if (!event.repeat) this.#press();
    } else if (event.key.toLowerCase() === "m" && this.talk.mode === "open" && !event.repeat && !on.closest(WRITES)) {
      this.mute(!this.talk.muted);
    }
  }

  #press() {
    const call = this.needs.call();
    if (call === null || this.talk.held) return;
    call.press();
    this.#show({ held: true });
  }

  #release() {
    if (!this.talk.held) return;
    this.needs.call()?.release();
    this.#show({ held: false });
  }

  /** @param {Partial<Talk>} part */
  #show(part) {
    this.talk = { ...this.talk, ...part };
    this.needs.changed();
  }
}

/**
 * Whether Space talks here: nowhere that it means something else, and an empty question has no use for it.
 * @param {Element} on
 */
function talks(on) {
  if (on instanceof HTMLTextAreaElement) return on.value === "";
  return on.id === "hold" || on.closest(PRESSED) === null;
}
