// How loud something is, from 0 to 1.

/** Quieter than this is silence; from here to 0 dB is the whole of the scale. */
const FLOOR_DB = -55;
const LEAST = 0.001;

export class Meter {
  #samples = new Float32Array(512);

  /**
   * @param {AudioContext} context
   * @param {AudioNode} source
   */
  constructor(context, source) {
    this.source = source;
    this.analyser = new AnalyserNode(context, { fftSize: 512 });
    // A node that leads nowhere may not be run; this one leads to silence.
    this.silent = new GainNode(context, { gain: 0 });
    source.connect(this.analyser).connect(this.silent).connect(context.destination);
  }

  get level() {
    this.analyser.getFloatTimeDomainData(this.#samples);
    return loudness(this.#samples);
  }

  close() {
    this.source.disconnect(this.analyser);
    this.analyser.disconnect();
    this.silent.disconnect();
  }
}

/**
 * Nothing at all is 0; the noise of a quiet room is more than that, though next to nothing.
 * @param {Float32Array} samples
 * @returns {number}
 */
export function loudness(samples) {
  let power = 0;
  for (const sample of samples) power += sample * sample;
  if (power === 0) return 0;
  const db = 10 * Math.log10(power / samples.length);
  return Math.max(LEAST, Math.min(1, 1 - db / FLOOR_DB));
}
