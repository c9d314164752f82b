// The sound that waits to be played, and how much of each response really was. Samples are 16-bit integers at 24 kHz.

export const RATE = 24_000;
/** Sound that is gathered before it begins, so that a late packet is no gap: 60 ms. */
const LEAD = (RATE * 60) / 1000;

/** @typedef {{ id: string, samples: Int16Array, at: number }} Piece */

export class Ring {
  /** @type {Piece[]} */
  #pieces = [];
  /** @type {Map<string, { played: number, ended: boolean }>} */
  #responses = new Map();
  #waiting = 0;
  #flows = false;
  held = false;

  /** Samples that wait. */
  get waiting() {
    return this.#waiting;
  }

  /**
   * @param {string} id of the response
   * @param {Int16Array} samples
   */
  add(id, samples) {
    if (!this.#responses.has(id)) this.#responses.set(id, { played: 0, ended: false });
    this.#pieces.push({ id, samples, at: 0 });
    this.#waiting += samples.length;
  }

  /**
   * No more comes of this response.
   * @param {string} id
   */
  end(id) {
    const response = this.#responses.get(id);
    if (response !== undefined) response.ended = true;
    else this.#responses.set(id, { played: 0, ended: true });
  }

  /** Forget what was not played. */
  clear() {
    this.#pieces = [];
    this.#waiting = 0;
    this.#flows = false;
    this.#responses.clear();
  }

  /**
   * Samples of a response that were played.
   * @param {string} id
   */
  played(id) {
    return this.#responses.get(id)?.played ?? 0;
  }

  /**
   * Fill `out` with the next sound, and with silence where there is none.
   * @param {Float32Array} out
   * @returns {{ began: string[], over: string[] }} responses whose first or last sample is in it
   */
  read(out) {
    /** @type {{ began: string[], over: string[] }} */
    const passed = { began: [], over: [] };
    let filled = 0;
    if (!this.held) {
      if (!this.#flows) this.#flows = this.#waiting >= LEAD || this.#pieces.some(({ id }) => this.#responses.get(id)?.ended);
      while (this.#flows && filled < out.length && this.#pieces.length > 0) filled = this.#readPiece(out, filled, passed);
      if (this.#waiting === 0) this.#flows = false;
      this.#settle(passed);
    }
    out.fill(0, filled);
    return passed;
  }

  /**
   * @param {Float32Array} out
   * @param {number} filled
   * @param {{ began: string[], over: string[] }} passed
   */
  #readPiece(out, filled, passed) {
    const piece = /** @type {Piece} */ (this.#pieces[0]);
    const response = this.#responses.get(piece.id);
    const count = Math.min(out.length - filled, piece.samples.length - piece.at);
    for (let place = 0; place < count; place += 1) {
      out[filled + place] = /** @type {number} */ (piece.samples[piece.at + place]) / 32_768;
    }
    if (response !== undefined) {
      if (response.played === 0 && count > 0) passed.began.push(piece.id);
      response.played += count;
    }
    piece.at += count;
    this.#waiting -= count;
    if (piece.at >= piece.samples.length) this.#pieces.shift();
    return filled + count;
  }

  /** @param {{ began: string[], over: string[] }} passed */
  #settle(passed) {
    for (const [id, response] of this.#responses) {
      if (!response.ended || this.#pieces.some((piece) => piece.id === id)) continue;
      passed.over.push(id);
      this.#responses.delete(id);
    }
  }
}
