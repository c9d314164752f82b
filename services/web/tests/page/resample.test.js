import assert from "node:assert/strict";
import { test } from "node:test";
import { Resampler } from "../../src/web/page/resample.js";

/** A second of a tone, resampled in pieces of 128 as the audio thread gives them. */
function resampled(hertz, from, to) {
  const resampler = new Resampler(from, to);
  const tone = Float32Array.from({ length: from }, (_, at) => Math.sin((2 * Math.PI * hertz * at) / from));
  const made = [];
  for (let at = 0; at < tone.length; at += 128) made.push(...resampler.take(tone.slice(at, at + 128)));
  return made;
}

const loudness = (samples) => Math.sqrt(samples.reduce((sum, one) => sum + one * one, 0) / samples.length);

for (const from of [48_000, 44_100, 96_000, 16_000]) {
  test(`speech passes whole from ${from} to 16,000 samples a second, at its own pitch and time`, () => {
    for (const hertz of [200, 1000, 3000, 6000]) {
      const made = resampled(hertz, from, 16_000);
      assert.ok(Math.abs(made.length - 16_000) < 60, `${made.length} samples`);
      const middle = made.slice(1000, 15_000);
      const wrong = middle.map((one, at) => one - Math.sin((2 * Math.PI * hertz * (at + 1000)) / 16_000));
      assert.ok(loudness(wrong) < 0.01, `${hertz} Hz is off by ${loudness(wrong)}`);
    }
  });
}

test("what the lower rate cannot hold does not come back as another sound", () => {
  for (const hertz of [9000, 12_000, 15_500]) {
    const made = resampled(hertz, 48_000, 16_000).slice(1000, 15_000);
    assert.ok(loudness(made) < 0.003, `${hertz} Hz comes back at ${loudness(made)}`);
  }
});

test("a rate that rises adds nothing to the sound", () => {
  const made = resampled(1000, 16_000, 24_000).slice(1000, 23_000);
  const wrong = made.map((one, at) => one - Math.sin((2 * Math.PI * 1000 * (at + 1000)) / 24_000));
  assert.ok(loudness(wrong) < 0.01);
});

test("nothing gives nothing", () => {
  assert.equal(new Resampler(48_000, 16_000).take(new Float32Array(0)).length, 0);
});
