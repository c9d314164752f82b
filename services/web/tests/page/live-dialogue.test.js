import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveDialogue } from "../../src/web/page/live-dialogue.js";
import { FakeClock, FakeLive, FakeTurn } from "./live-fakes.js";

const ANSWER = "The code is **ORCHID-47** [1]. It opens the valve [2].";

function dialogue() {
  const clock = new FakeClock();
  const wire = new FakeLive();
  const seen = { doing: [], trouble: [], turns: [], interrupted: [], agents: [], moments: [] };
  const it = new LiveDialogue({
    clock,
    changed: (doing) => seen.doing.push(doing),
    trouble: (problem) => seen.trouble.push(problem?.code ?? null),
    asked: (question) => {
      seen.turns.push(new FakeTurn(question));
      return seen.turns.at(-1);
    },
    interrupted: (turn, heard) => seen.interrupted.push([turn.turnId, heard]),
    agent: (...agent) => seen.agents.push(agent),
    moment: (name) => seen.moments.push(name),
  });
  it.attach(wire);
  const tell = (type, more = {}) => it.event({ type, ...more });
  const doing = () => seen.doing.at(-1);
  return { it, clock, wire, seen, tell, doing };
}

function asks(call, question = "What is the code?", number = 1) {
  call.tell("speech_started");
  call.tell("speech_stopped");
  call.tell("turn_started", { turn: number, turn_id: null, trace_id: null });
  call.tell("input_transcript", { text: question, finished: true });
  call.tell("response_started", { response_id: `r${number}` });
  call.tell("turn_started", { turn: number, turn_id: `turn-${number}`, trace_id: "t" });
}

test("a spoken question becomes one turn, which is followed by its id", () => {
  const call = dialogue();
  assert.equal(call.doing().kind, "listening");
  asks(call);
  assert.deepEqual(call.seen.turns.map(({ question, turnId }) => [question, turnId]), [["What is the code?", "turn-1"]]);
  assert.equal(call.doing().kind, "thinking");
  call.tell("turn_complete", { turn: 1 });
  assert.deepEqual(call.seen.turns[0].told, ["done"]);
  asks(call, "And the valve?", 2);
  assert.equal(call.seen.turns.length, 2);
});

test("what is being said is lit where it stands in the answer, marks and citations passed by", () => {
  const call = dialogue();
  asks(call);
  call.seen.turns[0].text = ANSWER;
  call.it.began("r1");
  const spans = [];
  for (const text of ["The code is", " ORCHID-47.", " It opens", " the valve."]) {
    call.tell("output_transcript", { text, finished: false });
    spans.push(ANSWER.slice(...call.doing().span));
  }
  assert.deepEqual(spans, ["The code is", "ORCHID-47", "It opens", "the valve"]);
  assert.equal(call.doing().turnId, "turn-1");
  assert.equal(call.doing().text, "The code is ORCHID-47. It opens the valve.");
});

test("V6. it is silent here at once when the person speaks, and the server is told how far playback came", () => {
  const call = dialogue();
  asks(call);
  call.it.began("r1");
  call.it.played("r1", 480);
  call.tell("speech_started");
  assert.equal(call.wire.held, true);
  assert.deepEqual(call.wire.of("played").at(-1), { type: "played", response_id: "r1", ms: 480 });
  assert.equal(call.doing().kind, "hearing");
});

test("V10. a false alarm lets it go on where it was; without a word from the server it goes on after a moment", () => {
  const call = dialogue();
  asks(call);
  call.it.began("r1");
  call.tell("speech_started");
  call.tell("speech_stopped");
  call.tell("speech_dismissed");
  assert.equal(call.wire.held, false);
  assert.ok(call.seen.moments.includes("resumed"));
  call.tell("speech_started");
  call.tell("speech_stopped");
  call.clock.pass(1400);
  assert.equal(call.wire.held, true);
  call.clock.pass(200);
  assert.equal(call.wire.held, false);
  assert.deepEqual(call.seen.interrupted, []);
});

test("V11. an interruption ends the turn where it was heard", () => {
  const call = dialogue();
  asks(call);
  call.seen.turns[0].text = ANSWER;
  call.it.began("r1");
  call.tell("output_transcript", { text: "The code is", finished: false });
  call.tell("speech_started");
  call.tell("interrupted");
  assert.deepEqual(call.seen.turns[0].told, ["interrupted"]);
  assert.deepEqual(call.seen.interrupted, [["turn-1", 11]]);
  assert.equal(call.wire.held, false);
  call.tell("interrupted");
  assert.equal(call.seen.interrupted.length, 1);
});

test("Escape silences here at once, and the server is told how far it was heard", () => {
  const call = dialogue();
  asks(call);
  call.it.began("r1");
  call.it.played("r1", 700);
  call.it.hush();
  assert.deepEqual(call.wire.heard, ["silence"]);
  assert.deepEqual(call.wire.of("interrupt"), [{ type: "interrupt", played_ms: 700 }]);
});

test("a typed question is asked in the session, and becomes a turn when it begins there", () => {
  const call = dialogue();
  assert.equal(call.it.ask("Where is the valve?"), true);
  assert.deepEqual(call.wire.of("text"), [{ type: "text", text: "Where is the valve?" }]);
  assert.deepEqual(call.wire.heard, ["silence"]);
  call.tell("turn_started", { turn: 1, turn_id: null, trace_id: null });
  call.tell("turn_started", { turn: 1, turn_id: "turn-1", trace_id: "t" });
  assert.deepEqual(call.seen.turns.map(({ question, turnId }) => [question, turnId]), [["Where is the valve?", "turn-1"]]);
  call.it.detach();
  assert.equal(call.it.ask("Too late?"), false);
});

test("an answer without frames is written as it is said", () => {
  const call = dialogue();
  call.tell("turn_started", { turn: 1, turn_id: null, trace_id: null });
  call.tell("response_started", { response_id: "r" });
  call.tell("output_transcript", { text: "Hello", finished: false });
  call.tell("output_transcript", { text: " there.", finished: false });
  call.tell("output_transcript", { text: "Hello there.", finished: true });
  call.tell("input_transcript", { text: "Good morning.", finished: true });
  call.tell("turn_started", { turn: 1, turn_id: null, trace_id: "trace-1" });
  assert.equal(call.seen.turns[0].traceId, "trace-1");
  assert.equal(call.seen.turns.length, 1);
  assert.equal(call.seen.turns[0].text, "Hello there.");
  assert.equal(call.seen.turns[0].question, "Good morning.");
});

test("who has the floor is told, at the start and when it changes hands", () => {
  const call = dialogue();
  call.tell("agent_changed", { agent: "safety", previous: "concierge", reason: "a valve" });
  assert.deepEqual(call.seen.agents, [["concierge", null], ["safety", "concierge"]]);
});

test("L9. push to talk marks the turn by hand, with the sound that is still on its way", () => {
  const call = dialogue();
  call.it.talkByHand(true);
  assert.equal(call.wire.open, false);
  call.it.press();
  call.it.press();
  assert.equal(call.wire.open, true);
  assert.equal(call.wire.held, true);
  assert.equal(call.doing().kind, "hearing");
  call.it.release();
  assert.equal(call.wire.open, true);
  call.clock.pass(200);
  assert.equal(call.wire.open, false);
  assert.deepEqual(call.wire.sent.map(({ type }) => type), ["activity_start", "activity_end"]);
  call.it.press();
  call.it.retract();
  call.it.release();
  assert.deepEqual(call.wire.sent.map(({ type }) => type).slice(2), ["activity_start", "activity_cancel"]);
  assert.equal(call.wire.open, false);
});

test("an open microphone has no marks, and is shut while muted", () => {
  const call = dialogue();
  call.it.press();
  call.it.release();
  assert.deepEqual(call.wire.sent, []);
  call.it.mute(true);
  assert.equal(call.wire.open, false);
  call.it.mute(false);
  assert.equal(call.wire.open, true);
});

test("V7. a connection that is lost in an answer says so of that answer, and the next one counts its turns anew", () => {
  const call = dialogue();
  asks(call);
  call.it.detach();
  assert.deepEqual(call.seen.turns[0].told, ["failed"]);
  call.it.attach(new FakeLive());
  asks(call, "Again?", 1);
  assert.equal(call.seen.turns.length, 2);
  call.tell("error", { code: "unavailable", message: "No.", fatal: false });
  assert.deepEqual(call.seen.trouble, ["unavailable"]);
});

test("how far playback came is told now and then, and at its end", () => {
  const call = dialogue();
  asks(call);
  call.it.began("r1");
  for (let ms = 50; ms <= 1000; ms += 50) {
    call.clock.pass(50);
    call.it.played("r1", ms);
  }
  const told = call.wire.of("played");
  assert.ok(told.length >= 3 && told.length <= 5, `${told.length} reports in a second`);
  call.it.idle();
  assert.equal(call.wire.of("played").at(-1).ms, 1000);
});

test("V7. while the provider is reached again the page says so, and no longer than that", () => {
  const call = dialogue();
  call.tell("reconnecting", { attempt: 1, wait_s: 0.5, reason: "drop" });
  call.tell("reconnected", { resumed: true });
  assert.deepEqual(call.seen.trouble, ["returning", null]);
});
