import assert from "node:assert/strict";
import { test } from "node:test";
import { Moments } from "../../src/web/page/moments.js";
import { FakeClock } from "./call-fakes.js";

function opened() {
  const clock = new FakeClock();
  const told = [];
  const moments = new Moments({ clock, tell: (batch) => told.push(batch.map(({ name, turnId }) => [name, turnId])) });
  return { clock, told, add: (name, turnId = null) => moments.add({ name, turnId, at: clock.now() }), moments };
}

test("moments are told in batches, those of a question under the turn that it became", () => {
  const { clock, told, add } = opened();
  add("speech_started");
  add("question");
  clock.pass(2500);
  assert.deepEqual(told, []);
  add("first_delta", "t1");
  clock.pass(2500);
  assert.deepEqual(told, [[["speech_started", "t1"], ["question", "t1"], ["first_delta", "t1"]]]);
});

test("speech that became nothing is told without a turn, after a while", () => {
  const { clock, told, add } = opened();
  add("speech_started");
  clock.pass(10_000);
  assert.deepEqual(told, [[["speech_started", null]]]);
});

test("what is left is told when the call ends", () => {
  const { told, add, moments, clock } = opened();
  add("spoken", "t1");
  moments.flush();
  moments.flush();
  clock.pass(20_000);
  assert.deepEqual(told, [[["spoken", "t1"]]]);
});
