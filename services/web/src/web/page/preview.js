// A microphone that is tried outside of a call: how loud it is, and nothing else is done with it.

import { Meter } from "./meter.js";
import { release } from "./microphone.js";

export class Preview {
  #context = new AudioContext();
  #meter;

  /** @param {MediaStream} stream */
  constructor(stream) {
    this.stream = stream;
    this.#meter = new Meter(this.#context, this.#context.createMediaStreamSource(stream));
  }

  level() {
    return this.#meter.level;
  }

  /** Give the microphone back. */
  close() {
    this.#meter.close();
    release(this.stream);
    void this.#context.close();
  }
}
