// The call as the page sees it: the button that opens and ends one, and the chat that it is about.

import { Call } from "./call.js";
import { uuid, web } from "./client.js";
import { byId, fill } from "./dom.js";
import { startLine } from "./words.js";

/** @import { Connection } from "./call.js" */

/**
 * @typedef {object} CallingNeeds
 * @property {(chatId: string) => void} stands a call for this chat stands, perhaps again
 * @property {() => void} ended the person ended the call that stood
 * @property {() => void} changed
 */

export class Calling {
  /** @type {Connection} */
  connection = { kind: "off" };
  /**
   * The voice that the services have; null while it is not known.
   * @type {string | null}
   */
  voice = null;
  /**
   * The call that opens or stands. The chat it opens for is begun once it stands.
   * @type {Call | null}
   */
  #call = null;

  /** @param {CallingNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    byId("call").addEventListener("click", () => {
      if (this.connection.kind === "starting") this.hangUp();
      else if (this.on) this.needs.ended();
      else this.start();
    });
    addEventListener("pagehide", () => this.#call?.stop());
  }

  /** Whether a call stands, or is coming back. */
  get on() {
    return this.connection.kind === "on" || this.connection.kind === "returning";
  }

  /** The chat of the call that opens or stands. */
  get chatId() {
    return this.#call?.chatId;
  }

  /** Open a call. The conversation stays as it is until the call stands, which begins its fresh chat. */
  start() {
    this.hangUp();
    const opening = new Call(uuid(), {
      credential: web.credential,
      browser: { isSecureContext, mediaDevices: navigator.mediaDevices },
      connect: (url, protocols) => new WebSocket(url, protocols),
      changed: (now) => {
        if (this.#call !== opening) return;
        if (now.kind === "on") this.needs.stands(opening.chatId);
        if (now.kind === "failed") this.#call = null;
        if (now.kind !== "starting") fill(byId("question-problem"));
        this.connection = now;
        this.needs.changed();
      },
    });
    this.#call = opening;
    void opening.start();
    byId("question").focus();
  }

  /** End the call, or the attempt at one; the conversation stays. */
  hangUp() {
    this.#call?.stop();
    this.#call = null;
    this.connection = { kind: "off" };
    fill(byId("question-problem"));
    this.needs.changed();
  }

  show() {
    const calling = this.on || this.connection.kind === "starting";
    const button = byId("call");
    fill(button, calling ? "Stop" : "Start");
    button.classList.toggle("quiet", !calling && this.voice === "simulated");
    for (const name of ["aria-label", "title"]) {
      if (calling || this.voice === null) button.removeAttribute(name);
      else button.setAttribute(name, startLine(this.voice));
    }
  }
}
