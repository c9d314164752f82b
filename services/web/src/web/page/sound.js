// The sound of a call without tracks: a worklet that captures the microphone, one that plays, and how loud both are.

import { Meter } from "./meter.js";
import { RATE } from "./ring.js";

/** @import { Levels } from "./voice" */

/**
 * @typedef {object} SoundListener
 * @property {(pcm: ArrayBuffer) => void} captured
 * @property {(id: string) => void} began
 * @property {(id: string, samples: number) => void} played
 * @property {(id: string) => void} over
 */

/** Both worklets of one call. */
export class Sound {
  /** @type {Capture | null} */
  #capture = null;
  #held = false;

  /**
   * @param {AudioContext} context
   * @param {AudioWorkletNode} player
   * @param {SoundListener} listener
   * @param {number} rate of what is captured, in samples a second
   */
  constructor(context, player, listener, rate) {
    this.context = context;
    this.player = player;
    this.listener = listener;
    this.rate = rate;
    player.connect(context.destination);
    this.meter = new Meter(context, player);
    player.port.onmessage = ({ data }) => {
      if (data.kind === "began") listener.began(data.id);
      else if (data.kind === "played") listener.played(data.id, data.samples);
      else if (data.kind === "over") listener.over(data.id);
    };
  }

  /**
   * @param {MediaStream} microphone
   * @param {SoundListener} listener
   * @param {number} [rate] of what is captured, in samples a second
   */
  static async open(microphone, listener, rate = RATE) {
    const context = new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
    await context.audioWorklet.addModule("/page/playback-worklet.js");
    const player = new AudioWorkletNode(context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    const both = new Sound(context, player, listener, rate);
    await both.useMicrophone(microphone);
    // A context that may not start stays silent for as long as nobody touches the page; it does not refuse.
    await Promise.race([context.resume(), new Promise((resolve) => setTimeout(resolve, 500))]);
    return both;
  }

  get blocked() {
    return this.context.state === "suspended";
  }

  /** @param {MediaStream} stream */
  async useMicrophone(stream) {
    const capture = await Capture.open(stream, this.listener.captured, this.rate);
    this.#capture?.close();
    this.#capture = capture;
  }

  /** @param {string} deviceId */
  async useSpeaker(deviceId) {
    const context = /** @type {AudioContext & { setSinkId?: (id: string) => Promise<void> }} */ (this.context);
    await context.setSinkId?.(deviceId);
  }

  async resume() {
    await Promise.all([this.context.resume(), this.#capture?.context.resume()]);
  }

  /**
   * @param {string} id
   * @param {Int16Array} samples
   */
  add(id, samples) {
    this.player.port.postMessage({ kind: "add", id, samples }, [samples.buffer]);
  }

  /** @param {string} id */
  end(id) {
    this.player.port.postMessage({ kind: "end", id });
  }

  /** @param {boolean} held */
  hold(held) {
    this.#held = held;
    this.player.port.postMessage({ kind: "hold", held });
  }

  clear() {
    this.player.port.postMessage({ kind: "clear" });
  }

  /** @returns {Levels} */
  levels() {
    return { agent: this.#held ? 0 : this.meter.level, microphone: this.#capture?.meter.level ?? 0 };
  }

  close() {
    this.#capture?.close();
    void this.context.close();
  }
}

/** The microphone's side, in a context of its own: browsers do not join what runs at different rates. */
class Capture {
  /**
   * @param {AudioContext} context
   * @param {MediaStreamAudioSourceNode} source
   * @param {(pcm: ArrayBuffer) => void} captured
   * @param {number} rate
   */
  constructor(context, source, captured, rate) {
    this.context = context;
    this.meter = new Meter(context, source);
    const node = new AudioWorkletNode(context, "capture", {
      numberOfOutputs: 0,
      channelCount: 1,
      channelCountMode: "explicit",
      processorOptions: { rate },
    });
    node.port.onmessage = ({ data }) => captured(data);
    source.connect(node);
  }

  /**
   * @param {MediaStream} stream
   * @param {(pcm: ArrayBuffer) => void} captured
   * @param {number} rate
   */
  static async open(stream, captured, rate) {
    const context = new AudioContext({ latencyHint: "interactive" });
    await context.audioWorklet.addModule("/page/capture-worklet.js");
    return new Capture(context, context.createMediaStreamSource(stream), captured, rate);
  }

  close() {
    void this.context.close();
  }
}
