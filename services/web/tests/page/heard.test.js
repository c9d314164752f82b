import assert from "node:assert/strict";
import { test } from "node:test";
import { HeardLedger, wholeWords } from "../../src/web/page/heard.js";

test("V11. a phrase that was played whole was heard whole, and one that was only begun was not", () => {
  const ledger = new HeardLedger();
  ledger.begin();
  ledger.started([0, 40], 40, 0);
  ledger.ended(true, 2500, null);
  assert.equal(ledger.heard(2500, null), 40);
  ledger.started([41, 101], 60, 3000);
  const heard = ledger.heard(5000, null);
  assert.ok(heard > 60 && heard < 85, `${heard}`);
  ledger.ended(false, 5000, null);
  assert.equal(ledger.heard(60_000, null), heard);
});

test("V11. time in which the speech was held was not heard", () => {
  const ledger = new HeardLedger();
  ledger.started([0, 150], 150, 0);
  ledger.hold(1000);
  const heard = ledger.heard(1000, null);
  assert.equal(ledger.heard(9000, null), heard);
  ledger.resume(9000);
  assert.equal(ledger.heard(9000, null), heard);
  assert.ok(ledger.heard(10_000, null) > heard);
});

test("V11. where the position of the sound is known it counts, not the time", () => {
  const ledger = new HeardLedger();
  ledger.whole(4000);
  ledger.started([100, 140], 40, 0);
  assert.equal(ledger.heard(99_999, 0), 100);
  assert.equal(ledger.heard(0, 1000), 110);
  assert.equal(ledger.heard(0, 2500), 125);
  assert.equal(ledger.heard(0, 4000), 139);
});

test("V11. what was heard only grows, and a new answer begins at nothing", () => {
  const ledger = new HeardLedger();
  ledger.started([0, 10], 10, 0);
  ledger.ended(true, 900, null);
  ledger.started([0, 10], 10, 1000);
  assert.equal(ledger.heard(1000, null), 10);
  ledger.begin();
  assert.equal(ledger.heard(1000, null), 0);
});

test("V11. the voice's own pace is learnt", () => {
  const ledger = new HeardLedger();
  ledger.started([0, 100], 100, 0);
  ledger.ended(true, 10_000, null);
  ledger.started([100, 200], 100, 10_000);
  assert.equal(ledger.heard(15_000, null), 150);
});

test("a word that was cut was not heard", () => {
  const text = "Its 😀 recovery code is ORCHID-47.";
  assert.equal(wholeWords(text, 15), 14);
  assert.equal(wholeWords(text, 14), 14);
  assert.equal(wholeWords(text, 99), 33);
  assert.equal(wholeWords(text, 2), 0);
  assert.equal(wholeWords("", 4), 0);
});
