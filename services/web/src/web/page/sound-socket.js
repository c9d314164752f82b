// A WebSocket that carries a session and its sound: the microphone is captured, and the voice played, by worklets.
// `OverWebSocket` and `LiveWire` say what goes over it.

/** @import { Sound } from "./sound.js" */
/** @import { Levels } from "./voice" */

/**
 * @typedef {object} SocketListener
 * @property {(why: string, mayReturn: boolean) => void} lost
 * @property {() => void} blocked
 */

export class SoundSocket {
  /** @protected @type {Sound | null} */
  sound = null;
  /** @protected */
  closed = false;
  /** @protected before it stands, whoever opens it hears why it does not */
  stands = false;
  #open = true;
  #listener;
  #stalled;

  /**
   * @param {WebSocket} socket
   * @param {SocketListener} listener
   * @param {number} stalled so many unsent bytes, and nobody reads at the other end, or there is none
   */
  constructor(socket, listener, stalled) {
    /** @protected */
    this.socket = socket;
    this.#listener = listener;
    this.#stalled = stalled;
  }

  /**
   * Send what the microphone captured.
   * @protected
   * @abstract
   * @param {ArrayBuffer} _pcm
   */
  sendSound(_pcm) {
    throw new TypeError(`${this.constructor.name} does not say how sound is sent.`);
  }

  /**
   * Be heard: take up the sound that was opened, unless it came too late.
   * @protected
   * @param {Sound} sound
   */
  useSound(sound) {
    if (this.closed) return sound.close();
    this.sound = sound;
    if (sound.blocked) this.#listener.blocked();
  }

  /**
   * @protected
   * @param {ArrayBuffer} pcm
   */
  capture(pcm) {
    if (!this.#open || this.closed || this.socket.readyState !== WebSocket.OPEN) return;
    if (this.socket.bufferedAmount > this.#stalled) return this.lost("The network to the voice is gone.", true);
    this.sendSound(pcm);
  }

  /** @param {object} message */
  send(message) {
    if (!this.closed && this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** @param {boolean} held */
  hold(held) {
    this.sound?.hold(held);
  }

  /** @param {boolean} open */
  listen(open) {
    this.#open = open;
  }

  /** @param {MediaStream} stream */
  async useMicrophone(stream) {
    await this.sound?.useMicrophone(stream);
  }

  /** @param {string} deviceId */
  async useSpeaker(deviceId) {
    await this.sound?.useSpeaker(deviceId);
  }

  async unblock() {
    await this.sound?.resume();
  }

  /** @returns {Levels} */
  levels() {
    const levels = this.sound?.levels() ?? { agent: 0, microphone: 0 };
    return this.#open ? levels : { ...levels, microphone: 0 };
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    this.sound?.close();
    this.socket.close(1000, "stopped");
  }

  /**
   * @protected
   * @param {string} why
   * @param {boolean} again
   */
  lost(why, again) {
    if (this.closed || !this.stands) return;
    this.close();
    this.#listener.lost(why || "The voice connection was closed.", again);
  }
}
