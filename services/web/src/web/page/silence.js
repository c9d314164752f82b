// Whether an open microphone gives any sound. A quiet room is not silent: even through the browser's noise suppression
// something of it arrives now and then, and of a muted or dead microphone nothing does.

/** A level below this is none. */
const NONE = 0.0005;
/** Milliseconds without any sound at all from a microphone that never gave any. */
const FRESH = 10_000;
/** The same for one that was heard before. */
const USED = 60_000;

export class Silence {
  /** @type {number | null} */
  #since = null;
  #heard = false;

  /** Another microphone, or another call. */
  begin() {
    this.#since = null;
    this.#heard = false;
  }

  /**
   * @param {number} level from 0 to 1
   * @param {boolean} open whether anything is meant to arrive
   * @param {number} now milliseconds
   * @returns {boolean} whether it has been silent for so long that something is wrong
   */
  hear(level, open, now) {
    if (level > NONE) this.#heard = true;
    if (!open || level > NONE) {
      this.#since = null;
      return false;
    }
    this.#since ??= now;
    return now - this.#since >= (this.#heard ? USED : FRESH);
  }
}
