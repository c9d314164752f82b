// On the audio thread: plays what the page sends it, and tells how far it really came.

import { RATE, Ring } from "./ring.js";

/** How often the position is told, in samples. */
const TOLD_EVERY = RATE / 20;

class Playback extends AudioWorkletProcessor {
  #ring = new Ring();
  /** @type {string | null} */
  #now = null;
  #untold = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.kind === "add") this.#ring.add(data.id, data.samples);
      else if (data.kind === "end") this.#ring.end(data.id);
      else if (data.kind === "hold") this.#ring.held = data.held;
      else if (data.kind === "clear") this.#ring.clear();
    };
  }

  /**
   * @param {Float32Array[][]} _inputs
   * @param {Float32Array[][]} outputs
   */
  process(_inputs, outputs) {
    const out = outputs[0]?.[0];
    if (out === undefined) return true;
    const { began, over } = this.#ring.read(out);
    for (const id of began) {
      this.#now = id;
      this.port.postMessage({ kind: "began", id });
    }
    this.#untold += out.length;
    if (this.#now !== null && this.#untold >= TOLD_EVERY) {
      this.#untold = 0;
      this.port.postMessage({ kind: "played", id: this.#now, samples: this.#ring.played(this.#now) });
    }
    for (const id of over) {
      if (id === this.#now) this.#now = null;
      this.port.postMessage({ kind: "over", id });
    }
    return true;
  }
}

registerProcessor("playback", Playback);
