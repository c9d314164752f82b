import assert from "node:assert/strict";
import { test } from "node:test";
import { loudness } from "../../src/web/page/meter.js";

const tone = (level) => Float32Array.from({ length: 480 }, (_, at) => level * Math.sin(at / 5));

test("silence is 0, a quiet room next to nothing, speech in between, and full scale nearly 1", () => {
  assert.equal(loudness(new Float32Array(512)), 0);
  assert.equal(loudness(tone(0.0001)), 0.001);
  assert.ok(loudness(tone(0.05)) > 0.4 && loudness(tone(0.05)) < 0.6);
  assert.ok(loudness(tone(1)) > 0.9 && loudness(tone(1)) <= 1);
});
