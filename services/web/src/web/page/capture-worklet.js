// On the audio thread: the microphone as PCM, 16 bits, mono, in pieces of 40 ms; 24 kHz unless another rate is asked for.

import { RATE } from "./ring.js";

class Capture extends AudioWorkletProcessor {
  #size = 0;
  #piece = new Int16Array(0);
  #filled = 0;
  /** Each sample is the mean of what falls into its time, at whatever rate the microphone comes. */
  #ratio = 1;
  #sum = 0;
  #weight = 0;

  /** @param {{ processorOptions?: { rate?: number } }} options */
  constructor({ processorOptions }) {
    super();
    const rate = processorOptions?.rate ?? RATE;
    this.#size = (rate * 40) / 1000;
    this.#piece = new Int16Array(this.#size);
    this.#ratio = sampleRate / rate;
  }

  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    for (const sample of inputs[0]?.[0] ?? []) this.#take(sample);
    return true;
  }

  /** @param {number} sample */
  #take(sample) {
    let left = 1;
    while (this.#weight + left >= this.#ratio) {
      const part = this.#ratio - this.#weight;
      this.#put((this.#sum + sample * part) / this.#ratio);
      left -= part;
      this.#sum = 0;
      this.#weight = 0;
    }
    this.#sum += sample * left;
    this.#weight += left;
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
