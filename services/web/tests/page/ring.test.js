import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBase64, toBase64 } from "../../src/web/page/pcm.js";
import { RATE, Ring } from "../../src/web/page/ring.js";

const BLOCK = 128;
const sound = (ms, level = 1000) => new Int16Array((RATE * ms) / 1000).fill(level);

function play(ring, ms) {
  const passed = { began: [], over: [], loud: 0 };
  for (let left = Math.round((RATE * ms) / 1000 / BLOCK); left > 0; left -= 1) {
    const out = new Float32Array(BLOCK);
    const { began, over } = ring.read(out);
    passed.began.push(...began);
    passed.over.push(...over);
    passed.loud += out.filter(Boolean).length;
  }
  return passed;
}

test("sound is gathered for 60 ms before it begins, and is played once", () => {
  const ring = new Ring();
  ring.add("a", sound(40));
  assert.equal(play(ring, 50).loud, 0);
  ring.add("a", sound(40));
  ring.end("a");
  const { began, over, loud } = play(ring, 200);
  assert.deepEqual([began, over], [["a"], ["a"]]);
  assert.equal(loud, (RATE * 80) / 1000);
});

test("a short sound that is complete does not wait for more", () => {
  const ring = new Ring();
  ring.add("a", sound(20));
  ring.end("a");
  assert.equal(play(ring, 30).loud, (RATE * 20) / 1000);
});

test("V6. held, it stands where it is; let go, it goes on there", () => {
  const ring = new Ring();
  ring.add("a", sound(300));
  play(ring, 96);
  const before = ring.played("a");
  ring.held = true;
  assert.equal(play(ring, 500).loud, 0);
  assert.equal(ring.played("a"), before);
  ring.held = false;
  play(ring, 96);
  assert.equal(ring.played("a"), before * 2);
});

test("V6. cleared, nothing of it is heard, nor told", () => {
  const ring = new Ring();
  ring.add("a", sound(300));
  play(ring, 100);
  ring.clear();
  assert.deepEqual(play(ring, 100), { began: [], over: [], loud: 0 });
  assert.equal(ring.waiting, 0);
});

test("V5. two responses play one behind the other, and each is told of", () => {
  const ring = new Ring();
  ring.add("a", sound(100));
  ring.end("a");
  ring.add("b", sound(100));
  ring.end("b");
  const { began, over, loud } = play(ring, 400);
  assert.deepEqual([began, over], [["a", "b"], ["a", "b"]]);
  assert.equal(loud, (RATE * 200) / 1000);
});

test("V11. a gap counts as nothing played", () => {
  const ring = new Ring();
  ring.add("a", sound(100));
  play(ring, 500);
  assert.equal(ring.played("a"), (RATE * 100) / 1000);
});

test("a response without sound is over at once", () => {
  const ring = new Ring();
  ring.end("a");
  assert.deepEqual(play(ring, 10).over, ["a"]);
});

test("PCM is the same after its way through base64", () => {
  const samples = new Int16Array([0, 1, -1, 32767, -32768, 258]);
  assert.deepEqual(fromBase64(toBase64(samples.buffer)), samples);
  assert.equal(fromBase64(btoa("abc")).length, 1);
});
