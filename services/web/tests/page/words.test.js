import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { eventOf, mayReturn, subprotocols } from "../../src/web/page/events.js";
import { lightOf } from "../../src/web/page/source.js";
import { ago, answersLine, corpusLine, leavingLines, modeLine, passagesLine, presence, reported, searchLine, startLine, wayOf, welcomeLine } from "../../src/web/page/words.js";

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
  const corpus = { ...example("web.corpus"), calls: [] };
  assert.match(corpusLine(corpus), /note/);
  assert.match(modeLine({ ...corpus, leaves: [{ what: "documents", to: null }] }), /nothing leaves this machine/);
  const live = { ...corpus, mode: "live", leaves: [{ what: "documents", to: "api.x" }, { what: "questions", to: "api.x" }] };
  assert.equal(modeLine(live), "live · notes and questions go to api.x");
  const spoken = { ...live, leaves: [...live.leaves, { what: "voice", to: "api.x" }] };
  assert.equal(modeLine(spoken), "live · notes, questions and voice go to api.x");
});

test("what leaves in calls that the server holds is said before any is opened", () => {
  const corpus = example("web.corpus");
  const [model, speech] = corpus.calls;
  assert.equal(
    modeLine({ ...corpus, calls: [model] }),
    "local · in calls through the server, questions and passages go to models.example, else nothing leaves",
  );
  assert.deepEqual(leavingLines({ ...corpus, calls: [model] }), [
    "Notes: stay here, but for calls through the server",
    "Questions: stay here, but for calls through the server",
    "Voice: stay here",
    "In calls through the server, questions and passages go to models.example.",
  ]);
  const spoken = { ...corpus, calls: [speech] };
  assert.match(modeLine(spoken), /that a speech model answers, your voice, questions and passages go to api\.openai\.com/);
  assert.equal(leavingLines(spoken)[2], "Voice: stay here, but for calls through the server");
  const always = corpus.leaves.map(({ what }) => ({ what, to: "api.openai.com" }));
  assert.equal(modeLine({ ...spoken, leaves: always }), "local · notes, questions and voice go to api.openai.com");
  assert.deepEqual(leavingLines({ ...corpus, calls: [] }), ["Notes: stay here", "Questions: stay here", "Voice: stay here"]);
});

test("who answers in a call is said whole: whether a model writes, whose it is, and that nobody checks it", () => {
  const offer = { ...example("voice.live.offer"), leaves: [] };
  assert.deepEqual(wayOf("cascade", offer).checked, true);
  assert.match(wayOf("cascade", offer).help, /checked against the lines/);
  const model = wayOf("cascade", { ...offer, leaves: [{ orchestrator: "cascade", what: "questions", to: "models.example" }] });
  assert.equal(model.label, "A model, unchecked");
  assert.equal(model.help, "A model of models.example writes the answer. Its sentences are not checked against your notes.");
  const speech = wayOf("live", example("voice.live.offer"));
  assert.match(speech.label, /speech model, unchecked/);
  assert.match(speech.help, /of api\.openai\.com .* not checked/);
  assert.match(answersLine(example("web.corpus")), /^quoted sentences; in calls .* a model of models\.example, unchecked$/);
});

test("how it searches and answers is told without the names of settings", () => {
  const corpus = { ...example("web.corpus"), calls: [] };
  assert.equal(searchLine(corpus), "by meaning and words, on this machine");
  assert.equal(answersLine(corpus), "quoted sentences");
  const live = { ...corpus, embeddings: "openai", answers: "responses", leaves: [{ what: "documents", to: "api.x" }] };
  assert.equal(searchLine(live), "by meaning and words, with api.x");
  assert.equal(answersLine(live), "written by api.x");
  assert.equal(answersLine({ ...live, answers: "chat" }), "written by api.x");
  assert.equal(answersLine({ ...corpus, answers: "tomorrow" }), "tomorrow");
});

test("passages that were looked at are not said to be behind the answer", () => {
  assert.equal(passagesLine(2, 7), "2 of 7 passages looked at are cited");
  assert.equal(passagesLine(1, 7), "1 of 7 passages looked at is cited");
  assert.equal(passagesLine(0, 7), "7 passages looked at, none cited");
  assert.equal(passagesLine(1, 1), "The passage looked at is cited");
  assert.equal(passagesLine(3, 3), "All 3 passages looked at are cited");
  assert.equal(passagesLine(null, 7), "7 passages looked at");
});

test("a page without a voice promises no call", () => {
  assert.match(welcomeLine("simulated"), /typed for now/);
  assert.doesNotMatch(welcomeLine("simulated"), /call/);
  assert.match(welcomeLine("openai"), /ask aloud/);
  assert.match(startLine("simulated"), /^Start: try the microphone/);
  assert.match(startLine("openai"), /^Start: open a call/);
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
