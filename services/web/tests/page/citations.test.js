import assert from "node:assert/strict";
import { test } from "node:test";
import { pieces, placesOf, settled, spoken } from "../../src/web/page/citations.js";

test("a number in brackets is a link when it is a place in the sources", () => {
  assert.deepEqual(pieces("It is red. [1][2] So?", 2), [
    { kind: "text", text: "It is red. " },
    { kind: "citation", text: "[1]", place: 1 },
    { kind: "citation", text: "[2]", place: 2 },
    { kind: "text", text: " So?" },
  ]);
});

test("a number that is no place stays text", () => {
  for (const text of ["See [3].", "See [0].", "list[10000]", "[a] [] [1", "[-1]"]) {
    assert.deepEqual(pieces(text, 2), [{ kind: "text", text }]);
  }
});

test("places that are cited are told once each, in their order", () => {
  assert.deepEqual(placesOf("A [3][1]. B [3] and [9].", 4), [1, 3]);
  assert.deepEqual(placesOf("A.", 4), []);
});

test("nothing is lost or added, whatever the text", () => {
  const text = "[1] a [9] b[2]\n[1]x[";
  assert.equal(pieces(text, 2).map((piece) => piece.text).join(""), text);
  assert.deepEqual(pieces("", 3), []);
});

test("a citation that is cut in two is held back until it is whole", () => {
  assert.equal(settled("It is red. ["), "It is red.");
  assert.equal(settled("It is red. [1"), "It is red.");
  assert.equal(settled("It is red. [1]"), "It is red. [1]");
  assert.equal(settled("an [aside"), "an [aside");
});

test("citations are not read aloud", () => {
  assert.equal(spoken("It is red. [1][2] Or blue [3]."), "It is red. Or blue.");
});
