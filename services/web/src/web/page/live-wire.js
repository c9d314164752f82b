// A session that the server holds, over one WebSocket: the microphone goes up as PCM at 16 kHz, the voice comes down at
// 24 kHz. Sound belongs to the response that was begun last; between an interruption and the next response there is none,
// so that nothing late is heard.

import { mayReopen, subprotocols } from "./events.js";
import { INPUT_RATE, liveEventOf } from "./live-events.js";
import { RATE } from "./ring.js";
import { Sound } from "./sound.js";
import { SoundSocket } from "./sound-socket.js";

/** @import { Live, LiveEvent, LiveListener, Ready } from "./live" */

/** How long a session may take to say that it is there, in milliseconds: a provider has to answer, too. */
const OPENING = 20_000;
/** Bytes of 5 s of sound. */
const STALLED = INPUT_RATE * 2 * 5;

/**
 * @typedef {object} LiveOpening
 * @property {MediaStream} microphone
 * @property {string} url
 * @property {string} credential
 * @property {object} wanted the frame that opens the session
 * @property {(url: string, protocols: string[]) => WebSocket} connect
 * @property {typeof Sound.open} [sound]
 * @property {LiveListener} listener
 * @property {AbortSignal} signal
 */

/** The server says no, and says why; `again` whether it may say yes the next time. */
export class LiveRefused extends Error {
  /**
   * @param {string} message
   * @param {boolean} again
   */
  constructor(message, again) {
    super(message);
    this.again = again;
  }
}

/** @implements {Live} */
export class LiveWire extends SoundSocket {
  kind = /** @type {const} */ ("server");
  /** @type {Ready} */
  ready;
  /** The response whose sound comes now; null: whatever comes is late. @type {string | null} */
  #response = null;
  /** What ended the session, in its own words. @type {string | null} */
  #fatal = null;
  /** Sound that came before it could be played. @type {{ id: string, samples: Int16Array }[]} */
  #early = [];

  /**
   * @param {LiveOpening} opening
   * @param {WebSocket} socket
   * @param {Ready} ready
   */
  constructor(opening, socket, ready) {
    super(socket, opening.listener, STALLED);
    this.opening = opening;
    this.ready = ready;
  }

  /**
   * Open the session and its sound.
   * @param {LiveOpening} opening
   * @returns {Promise<LiveWire>}
   */
  static async open(opening) {
    const socket = opening.connect(opening.url, subprotocols(opening.credential));
    socket.binaryType = "arraybuffer";
    /** @type {LiveWire | null} */
    let opened = null;
    try {
      const wire = new LiveWire(opening, socket, await ready(socket, opening));
      opened = wire;
      socket.addEventListener("message", ({ data }) => wire.#take(data));
      socket.addEventListener("close", ({ code, reason }) => wire.#ended(code, reason));
      await wire.#start();
      opening.signal.throwIfAborted();
      if (socket.readyState !== 1) throw new LiveRefused(wire.#fatal ?? "The voice connection was closed.", wire.#fatal === null);
      wire.stands = true;
      return wire;
    } catch (error) {
      opened?.close();
      socket.close(1000, "stopped");
      throw error;
    }
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #ended(code, reason) {
    this.lost(this.#fatal ?? reason, mayReopen(code, this.#fatal !== null));
  }

  async #start() {
    const { microphone, listener, sound = Sound.open } = this.opening;
    const opened = await sound(
      microphone,
      {
        captured: (pcm) => this.capture(pcm),
        began: (id) => !this.closed && listener.began(id),
        played: (id, samples) => !this.closed && listener.played(id, (samples * 1000) / RATE),
        over: () => !this.closed && listener.idle(),
      },
      INPUT_RATE,
    );
    for (const { id, samples } of this.#early.splice(0)) opened.add(id, samples);
    this.useSound(opened);
  }

  /**
   * @protected
   * @override
   * @param {ArrayBuffer} pcm
   */
  sendSound(pcm) {
    this.socket.send(pcm);
  }

  /** @param {unknown} data */
  #take(data) {
    if (this.closed) return;
    if (data instanceof ArrayBuffer) return this.#play(new Int16Array(data, 0, data.byteLength >> 1));
    const event = liveEventOf(data);
    if (event === null) return;
    if (event.type === "response_started") this.#response = event.response_id;
    else if (event.type === "response_ended") this.sound?.end(event.response_id);
    else if (event.type === "interrupted") this.silence();
    else if (event.type === "error" && event.fatal) this.#fatal = event.message;
    this.opening.listener.event(event);
  }

  /** @param {Int16Array} samples */
  #play(samples) {
    if (this.#response === null) return;
    if (this.sound === null) this.#early.push({ id: this.#response, samples });
    else this.sound.add(this.#response, samples);
  }

  silence() {
    this.#response = null;
    this.#early = [];
    this.sound?.clear();
  }
}

/**
 * Say what is wanted, and wait until the session says that it is there.
 * @param {WebSocket} socket
 * @param {LiveOpening} opening
 * @returns {Promise<Ready>}
 */
function ready(socket, { wanted, signal }) {
  return new Promise((resolve, reject) => {
    const listening = new AbortController();
    const late = setTimeout(() => refuse("It took too long.", true), OPENING);
    let said = "";
    let fatal = false;
    const refuse = (/** @type {string} */ why, /** @type {boolean} */ again) => {
      clearTimeout(late);
      listening.abort();
      reject(new LiveRefused(why, again));
    };
    const on = { signal: listening.signal };
    const begin = () => socket.send(JSON.stringify(wanted));
    if (socket.readyState === 1) begin();
    else socket.addEventListener("open", begin, on);
    signal.addEventListener("abort", () => refuse("stopped", false), on);
    socket.addEventListener("close", ({ code, reason }) => refuse(said || reason || "The session was refused.", mayReopen(code, fatal)), on);
    socket.addEventListener(
      "message",
      ({ data }) => {
        /** @type {LiveEvent | null} */
        const event = liveEventOf(data);
        if (event?.type === "error") [said, fatal] = [event.message, event.fatal];
        if (event?.type !== "ready") return;
        clearTimeout(late);
        listening.abort();
        resolve(event);
      },
      on,
    );
  });
}
