import assert from "node:assert/strict";
import { test } from "node:test";
import { lengthOf, toCodePoints, toUtf16 } from "../../src/web/page/offsets.js";

test("offsets agree in a text of one unit a character", () => {
  assert.equal(toUtf16("plain", 3), 3);
  assert.equal(toCodePoints("plain", 3), 3);
});

test("a character beyond the basic plane counts once on the wire and twice in the browser", () => {
  const text = "a😀b𝒳c";
  assert.equal(lengthOf(text), 5);
  assert.equal(toUtf16(text, 2), 3);
  assert.equal(toUtf16(text, 4), 6);
  assert.equal(toCodePoints(text, 3), 2);
  assert.equal(text.slice(toUtf16(text, 3), toUtf16(text, 4)), "𝒳");
});

test("joined emoji and combining marks are counted as code points, as the servers count them", () => {
  const family = "👩‍👩‍👧";
  assert.equal(lengthOf(family), Array.from(family).length);
  assert.equal(lengthOf("e\u0301"), 2);
});

test("past the end is the end, and counting may begin in the middle", () => {
  assert.equal(toUtf16("ab", 99), 2);
  assert.equal(toUtf16("😀😀b", 1, 2), 4);
  assert.equal(toUtf16("", 1), 0);
});

test("both ways agree for every offset of mixed text", () => {
  const text = "Wärme 火 😀 — ok 𝒳.";
  for (let at = 0; at <= lengthOf(text); at += 1) assert.equal(toCodePoints(text, toUtf16(text, at)), at);
});
