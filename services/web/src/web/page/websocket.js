// A session over the WebSocket: events and sound on one wire, for where WebRTC does not reach. How far the answer was
// played is told by the worklet that plays it.

import { eventOf, mayReturn, sound, subprotocols } from "./events.js";
import { fromBase64, toBase64 } from "./pcm.js";
import { RATE } from "./ring.js";
import { Sound } from "./sound.js";
import { SoundSocket } from "./sound-socket.js";

/** @import { RealtimeClientEvent, RealtimeServerEvent } from "openai/resources/realtime/realtime" */
/** @import { Transport, TransportListener } from "./voice" */

/** How long a session may take to say that it is there, in milliseconds. */
const OPENING = 10_000;
/** Bytes of 5 s of sound. */
const STALLED = 320_000;

/**
 * @typedef {object} Opening
 * @property {MediaStream | null} microphone null: the session is silent, and only its events are wanted
 * @property {string} url
 * @property {string} credential
 * @property {boolean} paced whether the session itself tells what was played; else it is told from what is played here
 * @property {(url: string, protocols: string[]) => WebSocket} connect
 * @property {TransportListener} listener
 * @property {AbortSignal} signal
 */

/** @implements {Transport} */
export class OverWebSocket extends SoundSocket {
  kind = /** @type {const} */ ("websocket");
  /** Milliseconds that came, and were played, of each response that may still be asked about. */
  /** @type {Map<string, { received: number, played: number }>} */
  #responses = new Map();

  /** @param {Opening} opening */
  constructor(opening) {
    super(opening.connect(opening.url, subprotocols(opening.credential)), opening.listener, STALLED);
    this.opening = opening;
    this.socket.addEventListener("message", ({ data }) => {
      const event = eventOf(data);
      if (event !== null && !this.closed) this.#take(event);
    });
    this.socket.addEventListener("close", ({ code, reason }) => this.lost(reason, mayReturn(code)));
  }

  /**
   * Open the session and its sound.
   * @param {Opening} opening
   * @returns {Promise<OverWebSocket>}
   */
  static async open(opening) {
    const transport = new OverWebSocket(opening);
    try {
      await created(transport.socket, opening.signal);
      if (opening.microphone !== null) await transport.#start(opening.microphone);
      opening.signal.throwIfAborted();
      transport.stands = true;
      return transport;
    } catch (error) {
      transport.close();
      throw error;
    }
  }

  /** @param {MediaStream} microphone */
  async #start(microphone) {
    const opened = await Sound.open(microphone, {
      captured: (pcm) => this.capture(pcm),
      began: (id) => this.#tell("output_audio_buffer.started", id),
      played: (id, samples) => {
        const response = this.#responses.get(id);
        if (response !== undefined) response.played = (samples * 1000) / RATE;
      },
      over: (id) => {
        const response = this.#responses.get(id);
        if (response !== undefined) response.played = response.received;
        this.#tell("output_audio_buffer.stopped", id);
      },
    });
    this.useSound(opened);
  }

  /**
   * @protected
   * @override
   * @param {ArrayBuffer} pcm
   */
  sendSound(pcm) {
    this.send(sound(toBase64(pcm)));
  }

  /** @param {RealtimeServerEvent} event */
  #take(event) {
    if (event.type === "response.created") {
      this.#responses.set(event.response.id ?? "", { received: 0, played: 0 });
      for (const id of [...this.#responses.keys()].slice(0, -8)) this.#responses.delete(id);
    } else if (event.type === "response.output_audio.delta") {
      const samples = fromBase64(event.delta);
      const response = this.#responses.get(event.response_id);
      if (response !== undefined) response.received += (samples.length * 1000) / RATE;
      if (response !== undefined) this.sound?.add(event.response_id, samples);
    } else if (event.type === "response.output_audio.done") {
      this.sound?.end(event.response_id);
    }
    this.opening.listener.event(event);
  }

  /**
   * Where the session does not know what is played, the page does.
   * @param {"output_audio_buffer.started" | "output_audio_buffer.stopped"} type
   * @param {string} id
   */
  #tell(type, id) {
    if (!this.opening.paced && !this.closed) this.opening.listener.event({ type, response_id: id, event_id: "" });
  }

  /**
   * @override
   * @param {RealtimeClientEvent} event
   */
  send(event) {
    if (event.type === "output_audio_buffer.clear" && !this.opening.paced) return;
    super.send(event);
  }

  /** What comes late of a response that was cleared is not played. */
  clear() {
    this.#responses.clear();
    this.sound?.clear();
  }

  /** @param {string} responseId */
  played(responseId) {
    return this.#responses.get(responseId)?.played ?? null;
  }

  /** @param {string} responseId */
  received(responseId) {
    return this.#responses.get(responseId)?.received ?? null;
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
