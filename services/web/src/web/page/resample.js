// Sound from one sample rate to another while it streams: each sample is what the band that both rates can hold has at its
// time (a sinc under a Blackman window). What the lower rate cannot hold is left out, so that no hiss of an "s" comes back
// as another sound. https://ccrma.stanford.edu/~jos/resample/

/** Zero crossings of the sinc to either side. */
const CROSSINGS = 16;
/** Of the lower rate's band, so much is kept; the window needs the rest. */
const KEPT = 0.92;
/** Points of the table between two crossings. */
const FINE = 256;

export class Resampler {
  /** @type {Float32Array} */
  #table;
  /** Crossings for a step of one sample. */
  #scale;
  #reach;
  /** What was heard and is still needed, and where the next sample is in it. */
  #heard = new Float32Array(0);
  #at;

  /**
   * @param {number} from samples a second
   * @param {number} to
   */
  constructor(from, to) {
    this.step = from / to;
    this.#scale = Math.min(1, to / from) * KEPT;
    this.#reach = Math.ceil(CROSSINGS / this.#scale);
    this.#at = this.#reach;
    this.#heard = new Float32Array(this.#reach);
    this.#table = Float32Array.from({ length: CROSSINGS * FINE + 2 }, (_, place) => kernel(place / FINE));
  }

  /**
   * The samples that are complete with these.
   * @param {Float32Array} samples
   * @returns {Float32Array}
   */
  take(samples) {
    const heard = new Float32Array(this.#heard.length + samples.length);
    heard.set(this.#heard);
    heard.set(samples, this.#heard.length);
    const count = Math.max(0, Math.ceil((heard.length - this.#reach - this.#at) / this.step));
    const made = new Float32Array(count);
    for (let place = 0; place < count; place += 1) {
      made[place] = this.#sample(heard, this.#at);
      this.#at += this.step;
    }
    const past = Math.min(heard.length, Math.max(0, Math.floor(this.#at) - this.#reach));
    this.#heard = heard.slice(past);
    this.#at -= past;
    return made;
  }

  /**
   * @param {Float32Array} heard
   * @param {number} at
   */
  #sample(heard, at) {
    const first = Math.max(0, Math.ceil(at - this.#reach));
    const last = Math.min(heard.length - 1, Math.floor(at + this.#reach));
    let sum = 0;
    for (let place = first; place <= last; place += 1) {
      const fine = Math.abs(place - at) * this.#scale * FINE;
      const low = Math.floor(fine);
      if (low >= CROSSINGS * FINE) continue;
      const [here, next] = [/** @type {number} */ (this.#table[low]), /** @type {number} */ (this.#table[low + 1])];
      sum += /** @type {number} */ (heard[place]) * (here + (next - here) * (fine - low));
    }
    return sum * this.#scale;
  }
}

/** @param {number} crossings from the middle */
function kernel(crossings) {
  if (crossings >= CROSSINGS) return 0;
  const x = Math.PI * crossings;
  const place = 0.5 + crossings / (2 * CROSSINGS);
  const window = 0.42 - 0.5 * Math.cos(2 * Math.PI * place) + 0.08 * Math.cos(4 * Math.PI * place);
  return (crossings === 0 ? 1 : Math.sin(x) / x) * window;
}
