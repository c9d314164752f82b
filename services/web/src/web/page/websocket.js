// A session over the WebSocket: events and sound on one wire, for where WebRTC does not reach. The microphone is
// captured, and the answer played, by worklets; how far it was played is told by the one that plays it.

import { eventOf, mayReturn, sound, subprotocols } from "./events.js";
import { fromBase64, toBase64 } from "./pcm.js";
import { RATE } from "./ring.js";
import { Sound } from "./sound.js";

/** @import { RealtimeClientEvent, RealtimeServerEvent } from "openai/resources/realtime/realtime" */
/** @import { Levels, Transport, TransportListener } from "./voice" */

/** How long a session may take to say that it is there, in milliseconds. */
const OPENING = 10_000;
/** Unsent sound of 5 s: nobody reads at the other end, or there is none. */
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
export class OverWebSocket {
  kind = /** @type {const} */ ("websocket");
  /** @type {WebSocket} */
  #socket;
  /** @type {Sound | null} */
  #sound = null;
  #closed = false;
  #stands = false;
  #open = true;
  /** Milliseconds that came, and were played, of each response that may still be asked about. */
  /** @type {Map<string, { received: number, played: number }>} */
  #responses = new Map();

  /** @param {Opening} opening */
  constructor(opening) {
    this.opening = opening;
    this.#socket = opening.connect(opening.url, subprotocols(opening.credential));
    this.#socket.addEventListener("message", ({ data }) => {
      const event = eventOf(data);
      if (event !== null && !this.#closed) this.#take(event);
    });
    this.#socket.addEventListener("close", ({ code, reason }) => this.#lost(reason, mayReturn(code)));
  }

  /**
   * Open the session and its sound.
   * @param {Opening} opening
   * @returns {Promise<OverWebSocket>}
   */
  static async open(opening) {
    const transport = new OverWebSocket(opening);
    try {
      await created(transport.#socket, opening.signal);
      if (opening.microphone !== null) await transport.#start(opening.microphone);
      opening.signal.throwIfAborted();
      transport.#stands = true;
      return transport;
    } catch (error) {
      transport.close();
      throw error;
    }
  }

  /** @param {MediaStream} microphone */
  async #start(microphone) {
    this.#sound = await Sound.open(microphone, {
      captured: (pcm) => this.#capture(pcm),
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
    if (this.#sound.blocked) this.opening.listener.blocked();
  }

  /** @param {ArrayBuffer} pcm */
  #capture(pcm) {
    if (!this.#open || this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#socket.bufferedAmount > STALLED) return this.#lost("The network to the voice is gone.", true);
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
      if (response !== undefined) this.#sound?.add(event.response_id, samples);
    } else if (event.type === "response.output_audio.done") {
      this.#sound?.end(event.response_id);
    }
    this.opening.listener.event(event);
  }

  /**
   * Where the session does not know what is played, the page does.
   * @param {"output_audio_buffer.started" | "output_audio_buffer.stopped"} type
   * @param {string} id
   */
  #tell(type, id) {
    if (!this.opening.paced && !this.#closed) this.opening.listener.event({ type, response_id: id, event_id: "" });
  }

  /** @param {RealtimeClientEvent} event */
  send(event) {
    if (event.type === "output_audio_buffer.clear" && !this.opening.paced) return;
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event));
  }

  /** @param {boolean} held */
  hold(held) {
    this.#sound?.hold(held);
  }

  /** What comes late of a response that was cleared is not played. */
  clear() {
    this.#responses.clear();
    this.#sound?.clear();
  }

  /** @param {string} responseId */
  played(responseId) {
    return this.#responses.get(responseId)?.played ?? null;
  }

  /** @param {string} responseId */
  received(responseId) {
    return this.#responses.get(responseId)?.received ?? null;
  }

  /** @param {boolean} open */
  listen(open) {
    this.#open = open;
  }

  /** @param {MediaStream} stream */
  async useMicrophone(stream) {
    await this.#sound?.useMicrophone(stream);
  }

  /** @param {string} deviceId */
  async useSpeaker(deviceId) {
    await this.#sound?.useSpeaker(deviceId);
  }

  async unblock() {
    await this.#sound?.resume();
  }

  /** @returns {Levels} */
  levels() {
    const levels = this.#sound?.levels() ?? { agent: 0, microphone: 0 };
    return this.#open ? levels : { ...levels, microphone: 0 };
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#sound?.close();
    this.#socket.close(1000, "stopped");
  }

  /**
   * @param {string} why
   * @param {boolean} again
   */
  #lost(why, again) {
    if (this.#closed || !this.#stands) return;
    this.close();
    this.opening.listener.lost(why || "The voice connection was closed.", again);
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
