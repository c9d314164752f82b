// Which wire a session runs on: WebRTC, or the WebSocket where the sound of WebRTC does not get through.

import { CLOCK } from "./clock.js";
import { answerTo, callsUrl, socketUrl } from "./signalling.js";
import { NotReached, WebRtc } from "./webrtc.js";
import { OverWebSocket } from "./websocket.js";

/** @import { ClientSecret } from "./wire" */
/** @import { Clock, Transport, TransportListener } from "./voice" */

/** For so long after the sound of WebRTC did not get through it is not tried again: the network is the same. */
const REMEMBERED_MS = 600_000;

/**
 * How transports are opened, what time it is, and when the sound of WebRTC was last found not to get through.
 * @typedef {object} Around
 * @property {(opening: import("./webrtc.js").Opening) => Promise<Transport>} webrtc
 * @property {(opening: import("./websocket.js").Opening) => Promise<Transport>} websocket
 * @property {typeof answerTo} answerTo
 * @property {Clock} clock
 * @property {number} [notReachedAt]
 */

/** @type {Around} */
export const BROWSER = { webrtc: WebRtc.open, websocket: OverWebSocket.open, answerTo, clock: CLOCK };

/**
 * @typedef {object} WiresNeeds
 * @property {(signal: AbortSignal) => Promise<ClientSecret>} credential one for each connection that is tried
 * @property {(url: string, protocols: string[]) => WebSocket} connect
 * @property {() => TransportListener} listener one for each connection that is tried
 */

export class Wires {
  /** Whether the sound of WebRTC was found not to get through, a while ago at most; then it is not tried in this call. */
  fellBack = false;
  /** Whether the WebSocket did not get through either. */
  blocked = false;

  /**
   * @param {WiresNeeds} needs
   * @param {Around} around
   */
  constructor(needs, around) {
    this.needs = needs;
    this.around = around;
    this.fellBack = around.clock.now() - (around.notReachedAt ?? -Infinity) < REMEMBERED_MS;
  }

  /**
   * @param {MediaStream} microphone
   * @param {AbortSignal} signal
   * @returns {Promise<{ secret: ClientSecret, transport: Transport }>}
   */
  async open(microphone, signal) {
    const secret = await this.#credential(signal);
    if (secret.voice === "simulated") return { secret, transport: await this.#webSocket(secret, null, signal) };
    if (!this.fellBack) {
      try {
        return { secret, transport: await this.#webRtc(secret, microphone, signal) };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof NotReached)) throw error;
        this.fellBack = true;
        this.around.notReachedAt = this.around.clock.now();
        return this.open(microphone, signal);
      }
    }
    try {
      return { secret, transport: await this.#webSocket(secret, microphone, signal) };
    } catch (error) {
      this.blocked = true;
      throw error;
    }
  }

  /** @param {AbortSignal} signal */
  async #credential(signal) {
    const secret = await this.needs.credential(signal);
    signal.throwIfAborted();
    return secret;
  }

  /**
   * @param {ClientSecret} secret
   * @param {MediaStream} microphone
   * @param {AbortSignal} signal
   */
  #webRtc(secret, microphone, signal) {
    return this.around.webrtc({
      microphone,
      answerTo: (offer) => this.around.answerTo(callsUrl(secret), offer, secret.value, signal),
      steady: secret.voice !== "openai",
      listener: this.needs.listener(),
      signal,
    });
  }

  /**
   * @param {ClientSecret} secret
   * @param {MediaStream | null} microphone null where the voice is silent
   * @param {AbortSignal} signal
   */
  #webSocket(secret, microphone, signal) {
    return this.around.websocket({
      microphone,
      url: socketUrl(secret),
      credential: secret.value,
      paced: secret.voice !== "openai",
      connect: this.needs.connect,
      listener: this.needs.listener(),
      signal,
    });
  }
}
