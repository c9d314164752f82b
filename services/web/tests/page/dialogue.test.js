import assert from "node:assert/strict";
import { test } from "node:test";
import { CONFIRMED_WITHIN, Dialogue } from "../../src/web/page/dialogue.js";
import { asked } from "../../src/web/page/frames.js";
import { FakeClock, FakeSession } from "./call-fakes.js";

const LOCAL = { waits: true, transcription: null };
const PROVIDER = { waits: false, transcription: { model: "gpt-transcribe", language: "en" } };

function opened(how = LOCAL) {
  const clock = new FakeClock();
  const seen = { doing: [], trouble: [], asked: [], said: [], interrupted: [], heard: [], moments: [] };
  const dialogue = new Dialogue({
    clock,
    changed: (doing) => seen.doing.push(doing),
    trouble: ({ code }) => seen.trouble.push(code),
    ask: (question) => seen.asked.push(question),
    said: (said) => seen.said.push(said),
    interrupt: (turnId, heard) => seen.interrupted.push([turnId, heard]),
    heard: (turnId, characters) => seen.heard.push([turnId, characters]),
    moment: (name, turnId) => seen.moments.push([name, turnId]),
  });
  const session = new FakeSession((event) => dialogue.event(event));
  const { transport } = session;
  dialogue.attach(transport, how);
  const doing = () => seen.doing.at(-1);
  return { clock, seen, dialogue, session, transport, doing };
}

/** An answer that is whole, from a turn that is done. */
function answered(dialogue, text, turnId = "t1", stage = "done") {
  const speaker = dialogue.speak();
  const turn = { ...asked("?"), turnId, text, stage };
  speaker.changed(turn);
  return { speaker, turn };
}

const ANSWER = "The recovery code is ORCHID-47 [1]. It stands on the door. Ask the keeper.";

test("V3. the session finds turns by itself, answers none, and is interrupted by nobody but the page", () => {
  const { session } = opened(PROVIDER);
  const { audio } = session.sent[0].session;
  assert.deepEqual(audio.input.turn_detection, { type: "server_vad", create_response: false, interrupt_response: false });
  assert.deepEqual(audio.input.transcription, PROVIDER.transcription);
});

test("V3. an utterance is asked once, in the words that are shown", () => {
  const { session, seen, doing } = opened();
  session.speechStarted();
  assert.deepEqual(doing(), { kind: "hearing", words: "" });
  session.speechStopped();
  session.commit();
  session.transcript(" What is the code? ");
  session.transcript("What is the code?");
  assert.deepEqual(seen.asked, ["What is the code?"]);
  assert.deepEqual(seen.said, [{ itemId: "item_1", text: "What is the code?", question: true }]);
});

test("V3. what is too long, or was not understood, is no question, and the person is told", () => {
  const { session, seen } = opened();
  session.says("x".repeat(2001));
  session.speechStarted();
  session.speechStopped();
  const item = session.commit();
  session.tell({ type: "conversation.item.input_audio_transcription.failed", item_id: item, error: {} });
  assert.deepEqual(seen.asked, []);
  assert.deepEqual(seen.trouble, ["long", "unheard"]);
});

test("an answer is spoken phrase by phrase while it is written", () => {
  const { dialogue, session, doing } = opened();
  const speaker = dialogue.speak();
  assert.equal(doing().kind, "thinking");
  const turn = { ...asked("?"), turnId: "t1" };
  speaker.changed({ ...turn, stage: "answering", text: "The code is ORCHID-47 [1]. It" });
  assert.equal(session.of("response.create").length, 1);
  session.begin();
  assert.deepEqual(doing(), { kind: "speaking", turnId: "t1", text: "The code is ORCHID-47.", span: [0, 26], heard: 0 });
  speaker.changed({ ...turn, stage: "done", text: "The code is ORCHID-47 [1]. It stands." });
  session.end();
  session.begin();
  assert.equal(doing().text, "It stands.");
  session.end();
  assert.equal(doing().kind, "listening");
  assert.deepEqual(session.aloud, ["+The code is ORCHID-47.", "-The code is ORCHID-47.", "+It stands.", "-It stands."]);
});

test("E2. what is spoken belongs to the trace of its turn", () => {
  const { dialogue, session } = opened();
  const traceId = "0123456789abcdef".repeat(2);
  dialogue.speak().changed({ ...asked("?"), turnId: "t1", traceId, text: "One.", stage: "done" });
  const { metadata } = session.of("response.create")[0].response;
  assert.deepEqual(metadata, { phrase_id: "1:0", turn_id: "t1", traceparent: `00-${traceId}-0123456789abcdef-01` });
});

test("a failed turn is said in its own words, and a stopped one is not", () => {
  const { dialogue, session } = opened();
  const failed = { ...asked("?"), turnId: "t1", stage: "failed", problem: { code: "deadline", message: "It took too long." } };
  dialogue.speak().changed(failed);
  session.begin();
  session.end();
  dialogue.speak().changed({ ...failed, stage: "stopped" });
  assert.deepEqual(session.aloud, ["+It took too long.", "-It took too long."]);
});

test("V6. speech mutes at once, and an utterance ends the answer where it was heard", () => {
  const { dialogue, session, clock, seen, doing } = opened();
  answered(dialogue, ANSWER, "t1", "answering");
  session.begin();
  session.end();
  session.begin();
  clock.pass(700);
  session.speechStarted();
  assert.equal(session.held, true);
  assert.equal(doing().kind, "hearing");
  assert.deepEqual(seen.interrupted, []);
  session.speechStopped();
  session.commit();
  session.transcript("And where is it?");
  assert.deepEqual(seen.asked, ["And where is it?"]);
  const [[turnId, heard]] = seen.interrupted;
  assert.equal(turnId, "t1");
  assert.ok(heard > 35 && heard < 57, `${heard} code points`);
  assert.equal(" ", ANSWER[heard]);
  assert.equal(session.of("output_audio_buffer.clear").length, 1);
  assert.equal(session.of("response.create").length, 2);
});

test("V6. who asks for silence gets it, and is asked nothing in return", () => {
  const { dialogue, session, clock, seen, doing } = opened();
  answered(dialogue, ANSWER, "t1");
  session.begin();
  clock.pass(700);
  session.speechStarted();
  session.speechStopped();
  session.commit();
  session.transcript("Hold on, stop.");
  assert.deepEqual(seen.asked, []);
  assert.equal(seen.interrupted.length, 1);
  assert.equal(session.of("output_audio_buffer.clear").length, 1);
  assert.equal(doing().kind, "listening");
});

for (const [name, end] of [
  ["the session forgets what it heard", ({ session }) => session.tell({ type: "input_audio_buffer.cleared" })],
  ["its transcript is blank", ({ session }) => (session.commit(), session.transcript(" "))],
  ["it only signals listening", ({ session }) => (session.commit(), session.transcript("Mhm."))],
  ["nothing confirms it for 1.5 s", ({ clock }) => clock.pass(CONFIRMED_WITHIN)],
]) {
  test(`V6, V10. speech goes on where it was when ${name}`, () => {
    const call = opened();
    answered(call.dialogue, ANSWER);
    call.session.begin();
    call.session.speechStarted();
    call.session.speechStopped();
    assert.equal(call.session.held, true);
    end(call);
    assert.equal(call.session.held, false);
    assert.equal(call.doing().kind, "speaking");
    assert.deepEqual(call.seen.asked, []);
    assert.deepEqual(call.seen.interrupted, []);
    assert.equal(call.session.of("response.cancel").length, 0);
    call.session.end();
    assert.equal(call.session.aloud.at(-1), "-The recovery code is ORCHID-47.");
  });
}

test("V6. a transcript that comes late still ends the answer", () => {
  const { dialogue, session, clock, seen } = opened();
  answered(dialogue, ANSWER);
  session.begin();
  session.speechStarted();
  session.speechStopped();
  session.commit();
  clock.pass(CONFIRMED_WITHIN);
  session.transcript("Stop, where is it?");
  assert.deepEqual(seen.asked, ["Stop, where is it?"]);
  assert.equal(seen.interrupted.length, 1);
  assert.deepEqual(session.aloud.at(-1), "/The recovery code is ORCHID-47.");
});

test("V6. a turn that had no name yet is stopped as soon as it has one, and none of it is spoken", () => {
  const { dialogue, session, seen } = opened();
  const speaker = dialogue.speak();
  session.says("Another question?");
  dialogue.speak();
  assert.deepEqual(seen.interrupted, []);
  const turn = { ...asked("?"), turnId: "t1", stage: "answering", text: "A late answer. More." };
  speaker.changed(turn);
  speaker.changed({ ...turn, stage: "done" });
  assert.deepEqual(seen.interrupted, [["t1", 0]]);
  assert.deepEqual(session.aloud, []);
});

test("V6. with a provider that does not wait the held phrase is said again", () => {
  const { dialogue, session } = opened(PROVIDER);
  answered(dialogue, "One is here. Two.");
  session.begin();
  session.speechStarted();
  session.speechStopped();
  session.tell({ type: "input_audio_buffer.cleared" });
  session.begin();
  assert.deepEqual(session.aloud, ["+One is here.", "/One is here.", "+One is here."]);
});

test("an answer that was heard to its end is not interrupted by the next question", () => {
  const { dialogue, session, seen } = opened();
  answered(dialogue, "One.");
  session.begin();
  session.end();
  session.says("And then?");
  assert.deepEqual(seen.interrupted, []);
});

test("when nothing is spoken a word of assent is a question like any other", () => {
  const { session, seen } = opened();
  session.says("Yes.");
  assert.deepEqual(seen.asked, ["Yes."]);
});

test("V11. web is told how much was heard, as it grows", () => {
  const { dialogue, session, clock, seen } = opened();
  answered(dialogue, ANSWER);
  session.begin();
  clock.pass(2250);
  session.end();
  session.begin();
  session.end();
  const counts = seen.heard.map(([turnId, characters]) => (assert.equal(turnId, "t1"), characters));
  assert.deepEqual(counts, [...counts].sort((a, b) => a - b));
  assert.deepEqual(counts.slice(-2), [35, 58]);
});

test("V11. an answer whose last phrase was played was heard whole, its last citation too", () => {
  const { dialogue, session, seen } = opened();
  answered(dialogue, "The code is ORCHID-47. [1]");
  session.begin();
  session.end();
  assert.deepEqual(seen.heard, [["t1", 26]]);
});

test("V7. a new connection says the phrase again that the lost one was saying", () => {
  const { dialogue, session, transport } = opened();
  answered(dialogue, "One is here. Two.");
  session.begin();
  dialogue.detach();
  session.aloud.length = 0;
  dialogue.attach(transport, LOCAL);
  assert.equal(session.of("response.create").length, 2);
  assert.equal(session.of("session.update").length, 2);
});

test("V1. after the stop nothing late is asked, said or shown", () => {
  const { dialogue, session, seen } = opened();
  const { speaker, turn } = answered(dialogue, "One.", "t1", "answering");
  session.speechStarted();
  session.speechStopped();
  session.commit();
  dialogue.stop();
  const before = JSON.stringify([seen, session.sent]);
  session.transcript("Late?");
  speaker.changed({ ...turn, text: "One. Two. Three." });
  assert.equal(JSON.stringify([seen, session.sent]), before);
});

test("L9. push to talk commits by hand, and speech that plays is silent while the button is held", () => {
  const { dialogue, session, clock, seen } = opened();
  dialogue.pushToTalk(true);
  assert.equal(session.of("session.update").at(-1).session.audio.input.turn_detection, null);
  assert.equal(session.open, false);
  answered(dialogue, "One is here. Two.");
  session.begin();
  dialogue.button.press();
  assert.equal(session.open, true);
  assert.equal(session.held, true);
  dialogue.button.release();
  assert.equal(session.of("input_audio_buffer.commit").length, 0);
  clock.pass(200);
  assert.equal(session.of("input_audio_buffer.commit").length, 1);
  assert.equal(session.open, false);
  session.commit();
  session.transcript("Mhm, and who keeps it?");
  assert.deepEqual(seen.asked, ["Mhm, and who keeps it?"]);
});

test("L9. thinking better of it asks nothing, and what was said is said again", () => {
  const { dialogue, session, seen, clock } = opened();
  dialogue.pushToTalk(true);
  answered(dialogue, "One is here.");
  session.begin();
  dialogue.button.press();
  dialogue.button.retract();
  session.begin();
  clock.pass(5000);
  assert.equal(session.of("input_audio_buffer.commit").length, 0);
  assert.equal(session.held, false);
  assert.deepEqual(seen.asked, []);
  assert.deepEqual(session.aloud, ["+One is here.", "/One is here.", "+One is here."]);
});

test("L9. an empty recording says how the button is used", () => {
  const { dialogue, session, seen, clock } = opened();
  dialogue.pushToTalk(true);
  dialogue.button.press();
  dialogue.button.release();
  clock.pass(200);
  session.tell({ type: "error", error: { code: "input_audio_buffer_commit_empty", message: "", event_id: null } });
  assert.deepEqual(seen.trouble, ["nothing_heard"]);
});

test("hushing ends the answer where it was heard, and the call listens on", () => {
  const { dialogue, session, seen, doing } = opened();
  answered(dialogue, ANSWER);
  session.begin();
  dialogue.hush();
  assert.equal(seen.interrupted.length, 1);
  assert.equal(session.aloud.at(-1), "/The recovery code is ORCHID-47.");
  assert.equal(doing().kind, "listening");
});

test("the moments of a turn are told in their order", () => {
  const { dialogue, session, seen } = opened();
  session.says("What?");
  answered(dialogue, "One.");
  session.begin();
  session.end();
  assert.deepEqual(
    seen.moments.map(([name]) => name),
    ["speech_started", "speech_stopped", "transcript", "question", "first_delta", "first_phrase", "first_audio", "spoken"],
  );
});
