// A session over WebRTC: sound on tracks, events on the data channel `oai-events`.
// https://platform.openai.com/docs/guides/realtime-webrtc

import { eventOf } from "./events.js";
import { Meter } from "./meter.js";

/** @import { RealtimeClientEvent, RealtimeServerEvent } from "openai/resources/realtime/realtime" */
/** @import { Levels, Transport, TransportListener } from "./voice" */

/** How long our own addresses are gathered for, and how long the far side may take to be reached, in milliseconds. */
const GATHERING = 1000;
const REACHED_WITHIN = 4000;
/** How long a session that was reached may take to say that it is there. */
const OPENING = 10_000;
/** How long a connection may stay disturbed, which a browser says after some 5 s without an answer. */
const DISTURBED = 500;

/** Sound that never stops is looked for so often, in milliseconds, and missed so many times before it counts as gone. */
const LOOK = 500;
const MISSED = 6;

/** The session was found, but its sound cannot be reached from here: another transport may do. */
export class NotReached extends Error {}

/**
 * @typedef {object} Opening
 * @property {MediaStream} microphone
 * @property {(offer: string) => Promise<string>} answerTo
 * @property {boolean} steady whether the far side sends sound without a stop, silence too
 * @property {TransportListener} listener
 * @property {AbortSignal} signal
 */

/** @implements {Transport} */
export class WebRtc {
  kind = /** @type {const} */ ("webrtc");
  #connection = new RTCPeerConnection();
  #channel = this.#connection.createDataChannel("oai-events");
  #audio = new Audio();
  #context = new AudioContext();
  /** @type {Meter | null} */
  #agent = null;
  /** @type {Meter | null} */
  #own = null;
  /** @type {RTCRtpSender} */
  #sender;
  /** @type {MediaStreamTrack} */
  #track;
  #open = true;
  #closed = false;
  #stands = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #disturbed;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #looking;
  #packets = 0;
  #missed = 0;

  /** @param {Opening} opening */
  constructor(opening) {
    this.opening = opening;
    this.#audio.autoplay = true;
    this.#track = trackOf(opening.microphone);
    this.#sender = this.#connection.addTrack(this.#track, opening.microphone);
    this.#meterOwn(opening.microphone);
    this.#connection.addEventListener("track", ({ track, streams }) => this.#hear(streams[0] ?? new MediaStream([track])));
    this.#connection.addEventListener("connectionstatechange", () => this.#changed());
    this.#channel.addEventListener("close", () => this.#lost("The voice connection was closed."));
    this.#channel.addEventListener("message", ({ data }) => {
      const event = eventOf(data);
      if (event !== null && !this.#closed) opening.listener.event(event);
    });
  }

  /**
   * Offer, answer, and wait until the session says that it is there. {@link NotReached} when its sound cannot be reached.
   * @param {Opening} opening
   * @returns {Promise<WebRtc>}
   */
  static async open(opening) {
    if (!("RTCPeerConnection" in globalThis)) throw new NotReached("This browser has no WebRTC.");
    const transport = new WebRtc(opening);
    try {
      await transport.#connect();
      return transport;
    } catch (error) {
      transport.close();
      throw error;
    }
  }

  async #connect() {
    await this.#connection.setLocalDescription();
    await gathered(this.#connection);
    const { signal, answerTo } = this.opening;
    const answer = await answerTo(/** @type {RTCSessionDescription} */ (this.#connection.localDescription).sdp);
    signal.throwIfAborted();
    const ready = this.#ready(signal);
    await Promise.all([this.#connection.setRemoteDescription({ type: "answer", sdp: answer }), ready]);
    this.#stands = true;
    if (this.opening.steady) void this.#look();
  }

  /** A far side that was killed says nothing, and the browser notices late: the sound that stops tells it sooner. */
  async #look() {
    const report = await this.#connection.getStats().catch(() => null);
    let packets = 0;
    report?.forEach((one) => {
      if (one.type === "inbound-rtp") packets += one.packetsReceived ?? 0;
    });
    if (this.#closed) return;
    this.#missed = packets > this.#packets ? 0 : this.#missed + 1;
    this.#packets = packets;
    if (this.#missed >= MISSED) return this.#lost(GONE);
    this.#looking = setTimeout(() => void this.#look(), LOOK);
  }

  /**
   * @param {AbortSignal} signal
   * @returns {Promise<void>}
   */
  #ready(signal) {
    return new Promise((resolve, reject) => {
      const watching = new AbortController();
      const settle = (/** @type {Error | null} */ error) => {
        clearTimeout(late);
        clearTimeout(silent);
        watching.abort();
        if (error === null) resolve();
        else reject(error);
      };
      const late = setTimeout(() => {
        if (this.#connection.connectionState !== "connected") settle(new NotReached("The sound was not reached in time."));
      }, REACHED_WITHIN);
      const silent = setTimeout(() => settle(new Error("It took too long.")), OPENING);
      const on = { signal: watching.signal };
      signal.addEventListener("abort", () => settle(new Error("stopped")), on);
      this.#channel.addEventListener("close", () => settle(new NotReached("The connection was closed at once.")), on);
      this.#channel.addEventListener("message", ({ data }) => eventOf(data)?.type === "session.created" && settle(null), on);
      this.#connection.addEventListener(
        "connectionstatechange",
        () => this.#connection.connectionState === "failed" && settle(new NotReached("No way to the sound was found.")),
        on,
      );
    });
  }

  /** @param {RealtimeClientEvent} event */
  send(event) {
    if (this.#channel.readyState === "open") this.#channel.send(JSON.stringify(event));
  }

  /** @param {boolean} held */
  hold(held) {
    this.#audio.muted = held;
  }

  /** The sound that waits is the session's: `output_audio_buffer.clear` clears it there. */
  clear() {}

  played() {
    return null;
  }

  received() {
    return null;
  }

  /** @param {boolean} open */
  listen(open) {
    this.#open = open;
    this.#track.enabled = open;
  }

  /** @param {MediaStream} stream */
  async useMicrophone(stream) {
    this.#track = trackOf(stream);
    this.#track.enabled = this.#open;
    this.#meterOwn(stream);
    await this.#sender.replaceTrack(this.#track);
  }

  /** @param {string} deviceId */
  async useSpeaker(deviceId) {
    await this.#audio.setSinkId?.(deviceId);
  }

  async unblock() {
    await Promise.all([this.#audio.play(), this.#context.resume()]);
  }

  /** @returns {Levels} */
  levels() {
    return {
      agent: this.#audio.muted ? 0 : (this.#agent?.level ?? 0),
      microphone: this.#open ? (this.#own?.level ?? 0) : 0,
    };
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#disturbed);
    clearTimeout(this.#looking);
    this.#audio.srcObject = null;
    this.#channel.close();
    this.#connection.close();
    void this.#context.close();
  }

  /** @param {MediaStream} stream */
  #hear(stream) {
    this.#audio.srcObject = stream;
    this.#agent = new Meter(this.#context, this.#context.createMediaStreamSource(stream));
    this.#audio.play().catch((error) => {
      if (error.name === "NotAllowedError" && !this.#closed) this.opening.listener.blocked();
    });
    void this.#context.resume();
  }

  /** @param {MediaStream} stream */
  #meterOwn(stream) {
    this.#own?.close();
    this.#own = new Meter(this.#context, this.#context.createMediaStreamSource(stream));
  }

  #changed() {
    clearTimeout(this.#disturbed);
    const state = this.#connection.connectionState;
    if (state === "failed") this.#lost(GONE);
    if (state === "disconnected") {
      this.#disturbed = setTimeout(() => this.#lost(GONE), DISTURBED);
    }
  }

  /** @param {string} why */
  #lost(why) {
    if (this.#closed || !this.#stands) return;
    this.close();
    this.opening.listener.lost(why, true);
  }
}

const GONE = "The network to the voice is gone.";

/** @param {MediaStream} stream */
function trackOf(stream) {
  return /** @type {MediaStreamTrack} */ (stream.getAudioTracks()[0]);
}

/**
 * Wait for our own addresses: an answer is given to all of them at once.
 * @param {RTCPeerConnection} connection
 * @returns {Promise<void>}
 */
function gathered(connection) {
  return new Promise((resolve) => {
    const look = () => {
      if (connection.iceGatheringState !== "complete") return;
      clearTimeout(late);
      resolve();
    };
    const late = setTimeout(resolve, GATHERING);
    connection.addEventListener("icegatheringstatechange", look);
    look();
  });
}
