import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ABBREVIATIONS, Phrases } from "../../src/web/page/phrases.js";
import { CODE_BLOCK } from "../../src/web/page/plain-speech.js";

const RULE = JSON.parse(readFileSync(new URL("../../../../contracts/examples/phrases.json", import.meta.url), "utf8"));

function cut(deltas) {
  const phrases = new Phrases();
  return [...deltas.flatMap((delta) => phrases.push(delta)), ...phrases.end()];
}

/** Every way to cut a text into pieces of one length, which splits every mark somewhere. */
function* splits(text) {
  const points = Array.from(text);
  for (const size of [1, 2, 3, 5, 7]) {
    yield Array.from({ length: Math.ceil(points.length / size) }, (_, at) => points.slice(at * size, (at + 1) * size).join(""));
  }
}

for (const { name, deltas, phrases } of RULE.cases) {
  test(`V4. ${name}`, () => {
    assert.deepEqual(cut(deltas), phrases);
    for (const pieces of splits(deltas.join(""))) assert.deepEqual(cut(pieces), phrases);
  });
}

test("V4. the page and the gateway announce code, and know abbreviations, alike", () => {
  assert.equal(CODE_BLOCK, RULE.code_block);
  assert.deepEqual([...ABBREVIATIONS].sort(), [...RULE.abbreviations].sort());
});

test("V4. a phrase is given as soon as it is complete, and the tail at the end only", () => {
  const phrases = new Phrases();
  assert.deepEqual(phrases.push("The code is ORCHID-47 [1]. It").map(({ text }) => text), ["The code is ORCHID-47."]);
  assert.deepEqual(phrases.push(" is amber"), []);
  assert.deepEqual(phrases.end().map(({ text }) => text), ["It is amber"]);
});
