import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { eventOf, mayReturn, subprotocols } from "../../src/web/page/events.js";
import { lightOf } from "../../src/web/page/source.js";
import { ago, corpusLine, modeLine, presence, reported } from "../../src/web/page/words.js";

const example = (name) =>
  JSON.parse(readFileSync(new URL(`../../../../contracts/examples/${name}.json`, import.meta.url), "utf8"));

test("times are told as a person would", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  assert.equal(ago("2026-01-01T12:00:03Z", now), "just now");
  assert.equal(ago("2026-01-01T11:59:20Z", now), "40 s ago");
  assert.equal(ago("2026-01-01T11:00:00Z", now), "60 min ago");
  assert.equal(ago("2025-12-30T12:00:00Z", now), "2 days ago");
});

test("the report of the contract reads as a sentence", () => {
  assert.match(reported(example("ingestor.refresh.response")), /^Done in .*\d+ unchanged/);
  const failed = { ...example("ingestor.refresh.response"), status: "failed", reason: "No space." };
  assert.match(reported(failed), /as they were: No space\./);
});

test("the corpus of the contract has one line, and says what leaves the machine", () => {
  const corpus = example("web.corpus");
  assert.match(corpusLine(corpus), /note/);
  assert.match(modeLine({ ...corpus, leaves: [{ what: "documents", to: null }] }), /nothing leaves this machine/);
  const live = { ...corpus, mode: "live", leaves: [{ what: "documents", to: "api.x" }, { what: "questions", to: "api.x" }] };
  assert.equal(modeLine(live), "live · notes and questions go to api.x");
});

test("what goes on has words, the connection's after the answer's", () => {
  assert.match(presence("searching", { kind: "on", voice: "simulated" }, false), /Searching/);
  assert.match(presence(null, { kind: "on", voice: "simulated" }, false), /typed/);
  assert.match(presence("answering", { kind: "off" }, true), /lost/);
  assert.equal(presence(null, { kind: "off" }, false), "Ready.");
});

test("lines that are cited are lit before the passage around them", () => {
  assert.equal(lightOf(10, [[10, 11]], [8, 12]), "lines");
  assert.equal(lightOf(9, [[10, 11]], [8, 12]), "passage");
  assert.equal(lightOf(13, [[10, 11]], [8, 12]), null);
  assert.equal(lightOf(1, [], undefined), null);
});

test("a message that is no event is nothing", () => {
  assert.equal(eventOf("{"), null);
  assert.equal(eventOf("[]"), null);
  assert.equal(eventOf(new Uint8Array()), null);
  assert.equal(eventOf('{"type":"session.created"}').type, "session.created");
});

test("a session that was refused is not opened again by itself", () => {
  assert.deepEqual([1000, 1008, 1013, 1006, 1012].map(mayReturn), [false, false, false, true, true]);
  assert.deepEqual(subprotocols("ek_x"), ["realtime", "openai-insecure-api-key.ek_x"]);
});
