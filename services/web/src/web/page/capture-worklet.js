// On the audio thread: the microphone as PCM, 16 bits, mono, in pieces of 40 ms; 24 kHz unless another rate is asked for.

import { Resampler } from "./resample.js";
import { RATE } from "./ring.js";

class Capture extends AudioWorkletProcessor {
  #size;
  #piece;
  #filled = 0;
  #resampler;

  /** @param {{ processorOptions?: { rate?: number } }} options */
  constructor({ processorOptions }) {
    super();
    const rate = processorOptions?.rate ?? RATE;
    this.#size = (rate * 40) / 1000;
    this.#piece = new Int16Array(this.#size);
    this.#resampler = new Resampler(sampleRate, rate);
  }

  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    const heard = inputs[0]?.[0];
    if (heard !== undefined) for (const sample of this.#resampler.take(heard)) this.#put(sample);
    return true;
  }

  /** @param {number} sample from -1 to 1 */
  #put(sample) {
    this.#piece[this.#filled] = Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)));
    this.#filled += 1;
    if (this.#filled < this.#size) return;
    this.port.postMessage(this.#piece.buffer, [this.#piece.buffer]);
    this.#piece = new Int16Array(this.#size);
    this.#filled = 0;
  }
}

registerProcessor("capture", Capture);
