// A call: the microphone and the session with the voice gateway, from Start to Stop.

import { eventOf, mayReturn, subprotocols } from "./events.js";
import { NoMicrophone, openMicrophone, release } from "./microphone.js";

/** @import { Problem } from "./microphone.js" */
/** @import { CallControls, CallNeeds, Connection as Standing, Levels, Speaker } from "./voice" */

/** @typedef {Standing} Connection */

const ATTEMPTS = 5;
const OPENING = 10_000;

/**
 * One call. `stop` ends it for good; whatever comes later is ignored.
 * @implements {CallControls}
 */
export class Call {
  /** @type {MediaStream | null} */
  #microphone = null;
  /** @type {WebSocket | null} */
  #socket = null;
  #ended = new AbortController();

  /**
   * @param {string} chatId
   * @param {CallNeeds} needs
   */
  constructor(chatId, needs) {
    this.chatId = chatId;
    this.needs = needs;
  }

  /** Ask for the microphone, then open the session. */
  async start() {
    this.#show({ kind: "starting", step: "microphone" });
    try {
      const microphone = await (this.needs.microphone?.() ?? openMicrophone(this.needs.browser));
      if (this.#ended.signal.aborted) return release(microphone);
      this.#microphone = microphone;
      this.#show({ kind: "starting", step: "connection" });
      await this.#open();
    } catch (error) {
      this.#fail(error instanceof NoMicrophone ? error.problem : unreached(error));
    }
  }

  /** End everything: requests, tracks, the connection. */
  stop() {
    this.#ended.abort();
    release(this.#microphone);
    this.#microphone = null;
    this.#socket?.close(1000, "stopped");
    this.#socket = null;
  }

  /** @returns {Speaker} */
  speak() {
    return { changed: () => undefined };
  }

  /** @returns {Levels} */
  levels() {
    return { agent: 0, microphone: 0 };
  }

  /** @param {boolean} _on */
  pushToTalk(_on) {}
  press() {}
  release() {}
  retract() {}
  /** @param {boolean} _on */
  mute(_on) {}
  async changeMicrophone() {}
  /** @param {string} _deviceId */
  async changeSpeaker(_deviceId) {}
  async unblock() {}
  hush() {}

  async #open() {
    const secret = await this.needs.credential(this.chatId, this.#ended.signal);
    if (this.#ended.signal.aborted) return;
    const here = new URL("/v1/realtime", location.href);
    here.protocol = here.protocol === "https:" ? "wss:" : "ws:";
    const socket = this.needs.connect(here.href, subprotocols(secret.value));
    this.#socket = socket;
    await created(socket, this.#ended.signal);
    socket.addEventListener("close", (event) => {
      if (this.#socket === socket) void this.#lost(event.code);
    });
    if (secret.voice === "simulated") {
      // The silent voice proves that the microphone can be had, and gives it back at once.
      release(this.#microphone);
      this.#microphone = null;
    }
    this.#show({
      kind: "on",
      voice: secret.voice,
      transport: "websocket",
      note: null,
      doing: secret.voice === "simulated" ? { kind: "silent" } : { kind: "listening" },
      problem: null,
    });
  }

  /** @param {number} code */
  async #lost(code) {
    this.#socket = null;
    for (let attempt = 1; attempt <= ATTEMPTS && mayReturn(code); attempt += 1) {
      if (this.#ended.signal.aborted) return;
      this.#show({ kind: "returning", attempt });
      await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** (attempt - 1), 8000)));
      try {
        return await this.#open();
      } catch {
        // The next attempt, or the words below, say it.
      }
    }
    this.#fail({
      code: "lost",
      message: "The voice connection was lost.",
      remedy: "Press Start to open a new one. Typing works without it.",
    });
  }

  /** @param {Problem} why */
  #fail(why) {
    if (this.#ended.signal.aborted) return;
    this.stop();
    this.needs.changed({ kind: "failed", problem: why });
  }

  /** @param {Connection} connection */
  #show(connection) {
    if (!this.#ended.signal.aborted) this.needs.changed(connection);
  }
}

/**
 * Wait until the session says that it is there.
 * @param {WebSocket} socket
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function created(socket, signal) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => refuse("It took too long."), OPENING);
    const listening = new AbortController();
    const refuse = (/** @type {string} */ why) => {
      clearTimeout(late);
      listening.abort();
      socket.close();
      reject(new Error(why));
    };
    const on = { signal: listening.signal };
    signal.addEventListener("abort", () => refuse("stopped"), on);
    socket.addEventListener("close", (event) => refuse(event.reason || "The session was refused."), on);
    socket.addEventListener(
      "message",
      ({ data }) => {
        const event = eventOf(data);
        if (event?.type === "error") refuse(event.error.message);
        if (event?.type !== "session.created") return;
        clearTimeout(late);
        listening.abort();
        resolve();
      },
      on,
    );
  });
}

/**
 * @param {unknown} error
 * @returns {Problem}
 */
function unreached(error) {
  const said = error instanceof Error && error.message ? ` ${error.message}` : "";
  return {
    code: "voice",
    message: `The voice connection could not be opened.${said}`,
    remedy: "Press Start to try again. Typing works without it.",
  };
}

