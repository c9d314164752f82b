// Gives what it hears, left and right, in pieces of a tenth of a second.
const QUANTUM = 128;
const PIECE = 38 * QUANTUM;

class Tap extends AudioWorkletProcessor {
  #piece = new Int16Array(PIECE * 2);
  #at = 0;
  #began = 0;

  process([left, right]) {
    if (this.#at === 0) this.#began = currentTime;
    for (let sample = 0; sample < QUANTUM; sample++) {
      this.#piece[this.#at++] = level(left?.[0]?.[sample]);
      this.#piece[this.#at++] = level(right?.[0]?.[sample]);
    }
    if (this.#at === this.#piece.length) {
      this.port.postMessage({ piece: this.#piece, began: this.#began });
      this.#piece = new Int16Array(PIECE * 2);
      this.#at = 0;
    }
    return true;
  }
}

function level(value = 0) {
  return Math.max(-1, Math.min(1, value)) * 32767;
}

registerProcessor("tap", Tap);
