import assert from "node:assert/strict";
import { test } from "node:test";
import { LONGEST_PHRASE, MOST_WAITING, SpeechQueue } from "../../src/web/page/speech-queue.js";
import { FakeClock, FakeSession } from "./call-fakes.js";

function opened(how) {
  const clock = new FakeClock();
  const session = new FakeSession((event) => queue.handle(event), how);
  const seen = { ended: [], trouble: [], idle: 0 };
  const queue = new SpeechQueue({
    clock,
    send: (event) => session.receive(event),
    hold: (held) => (session.held = held),
    clear: () => undefined,
    started: () => undefined,
    ended: ({ text }, how) => seen.ended.push([text, how]),
    idle: () => (seen.idle += 1),
    trouble: ({ code }) => seen.trouble.push(code),
  });
  queue.open();
  queue.begin();
  const say = (...texts) => queue.add(texts.map((text) => ({ text, span: [0, text.length] })), "t1", null);
  return { clock, session, queue, seen, say };
}

test("V5. a phrase is a response out of band, with no tools and an id of its own", () => {
  const { session, say } = opened();
  say("One.");
  const { response } = session.of("response.create")[0];
  assert.equal(response.conversation, "none");
  assert.deepEqual(response.tools, []);
  assert.deepEqual(response.metadata, { phrase_id: "1:0", turn_id: "t1" });
  assert.equal(response.input[0].content[0].text, "One.");
  assert.match(response.instructions, /exactly as it stands/);
});

test("V5. the next phrase starts when the one before was played, not when it was made", () => {
  const { session, say } = opened();
  say("One.", "Two.");
  session.begin();
  assert.equal(session.of("response.create").length, 1);
  session.end();
  assert.equal(session.of("response.create").length, 2);
  session.begin();
  session.end();
  assert.deepEqual(session.aloud, ["+One.", "-One.", "+Two.", "-Two."]);
});

test("V5. the end of another response ends nothing", () => {
  const { session, queue, say } = opened();
  say("One.", "Two.");
  session.begin();
  queue.handle({ type: "output_audio_buffer.stopped", response_id: "resp_other" });
  queue.handle({ type: "response.created", response: { id: "resp_x", metadata: null } });
  assert.equal(session.of("response.create").length, 1);
});

test("V5. a phrase that takes 30 s is given up, and the next one is spoken", () => {
  const { clock, session, seen, say } = opened();
  say("One.", "Two.");
  session.begin();
  clock.pass(LONGEST_PHRASE - 1);
  assert.deepEqual(seen.trouble, []);
  clock.pass(1);
  assert.deepEqual(seen.trouble, ["unspoken"]);
  assert.deepEqual(seen.ended, [["One.", "failed"]]);
  session.begin();
  assert.deepEqual(session.aloud, ["+One.", "/One.", "+Two."]);
});

test("V5. at most 100 phrases wait, and the person is told once", () => {
  const { seen, session, say } = opened();
  say(...Array.from({ length: MOST_WAITING + 20 }, (_, at) => `Phrase ${at}.`));
  say("And more.");
  assert.deepEqual(seen.trouble, ["too_long"]);
  assert.equal(session.of("response.create").length, 1);
  session.begin();
  session.end();
  say("Behind what was left out.");
  for (let at = 0; at < MOST_WAITING + 20; at++) {
    session.begin();
    session.end();
  }
  const said = session.of("response.create").map(({ response }) => response.input[0].content[0].text);
  assert.equal(said.at(-1), `Phrase ${MOST_WAITING - 1}.`);
});

test("V5. a phrase that fails is passed over", () => {
  const { session, queue, seen, say } = opened();
  say("One.", "Two.");
  queue.handle({ type: "response.done", response: { id: "resp_1", status: "failed" } });
  assert.deepEqual(seen.ended, [["One.", "failed"]]);
  assert.equal(session.of("response.create").at(-1).response.input[0].content[0].text, "Two.");
});

test("V5. a phrase that was made and never begins to play is passed over", () => {
  const { clock, session, queue, seen, say } = opened();
  say("One.", "Two.");
  queue.handle({ type: "response.done", response: { id: "resp_1", status: "completed" } });
  clock.pass(5000);
  assert.deepEqual(seen.ended, [["One.", "failed"]]);
  assert.equal(session.of("response.create").length, 2);
});

test("V5. a session that is still busy is asked again", () => {
  const { clock, session, queue, seen, say } = opened({ silentIds: true });
  say("One.");
  const busy = { code: "conversation_already_has_active_response", event_id: "speech:1:0", message: "" };
  queue.handle({ type: "error", error: busy });
  clock.pass(300);
  assert.equal(session.of("response.create").length, 2);
  assert.deepEqual(seen.trouble, []);
  queue.handle({ type: "error", error: { ...busy, code: "invalid_value" } });
  assert.deepEqual(seen.trouble, ["unspoken"]);
});

test("V6. a phrase that is to be asked for again is asked for when a sound of the person was nothing", () => {
  const { clock, session, queue, say } = opened({ silentIds: true });
  say("One.");
  const busy = { code: "conversation_already_has_active_response", event_id: "speech:1:0", message: "" };
  queue.handle({ type: "error", error: busy });
  clock.pass(100);
  queue.hold();
  clock.pass(400);
  assert.equal(session.of("response.create").length, 1);
  queue.resume();
  assert.equal(session.of("response.create").length, 2);
});

test("V6. when speech starts the page is silent at once, and goes on where it was when it was none", () => {
  const { session, queue, say } = opened();
  say("One.", "Two.");
  session.begin();
  queue.hold();
  assert.equal(session.held, true);
  queue.resume();
  assert.equal(session.held, false);
  session.end();
  session.begin();
  assert.deepEqual(session.aloud, ["+One.", "-One.", "+Two."]);
  assert.equal(session.of("response.cancel").length, 0);
});

test("V6. while the person speaks no phrase begins, and none is given up", () => {
  const { clock, session, queue, seen, say } = opened();
  say("One.", "Two.");
  session.begin();
  queue.hold();
  session.end();
  clock.pass(LONGEST_PHRASE * 2);
  assert.equal(session.of("response.create").length, 1);
  queue.resume();
  assert.equal(session.of("response.create").length, 2);
  assert.deepEqual(seen.trouble, []);
});

test("V6. an interruption cancels and clears, and nothing that waited is said", () => {
  const { session, queue, seen, say } = opened();
  say("One.", "Two.");
  session.begin();
  queue.hold();
  queue.interrupt();
  assert.equal(session.of("response.cancel")[0].response_id, "resp_1");
  assert.equal(session.of("output_audio_buffer.clear").length, 1);
  assert.deepEqual(session.aloud, ["+One.", "/One."]);
  assert.deepEqual(seen.ended, [["One.", "cut"]]);
  assert.equal(queue.busy, false);
  assert.deepEqual(seen.trouble, []);
});

test("V6. the page stays silent until the new answer's first phrase has its id", () => {
  const { session, queue, say } = opened();
  say("Old.");
  session.begin();
  queue.hold();
  queue.interrupt();
  assert.equal(session.held, true);
  queue.begin();
  say("New.");
  assert.equal(session.held, false);
  session.begin();
  assert.deepEqual(session.aloud, ["+Old.", "/Old.", "+New."]);
});

test("V6. a phrase cleared before its id is known is cancelled the moment the id arrives, before another is asked for", () => {
  const { session, queue, say } = opened({ silentIds: true });
  say("Old.");
  queue.interrupt();
  queue.begin();
  say("New.");
  assert.equal(session.of("response.create").length, 1);
  session.name();
  assert.equal(session.of("response.cancel")[0].response_id, "resp_1");
  assert.equal(session.of("response.create").length, 2);
  session.name();
  session.begin();
  assert.deepEqual(session.aloud, ["+New."]);
});

test("V6. an id that never arrives keeps the next answer waiting for a while only", () => {
  const { clock, session, queue, say } = opened({ silentIds: true });
  say("Old.");
  queue.interrupt();
  queue.begin();
  say("New.");
  clock.pass(3000);
  assert.equal(session.of("response.create").length, 2);
  session.name();
  assert.equal(session.of("response.cancel")[0].response_id, "resp_1");
});

test("V6. a late answer of an older generation is cancelled, and clears nothing that plays", () => {
  const { session, queue, say } = opened();
  queue.begin();
  say("New.");
  session.begin();
  queue.handle({ type: "response.created", response: { id: "resp_late", metadata: { phrase_id: "1:3" } } });
  assert.deepEqual(session.of("response.cancel").map((event) => event.response_id), ["resp_late"]);
  session.end();
  assert.deepEqual(session.aloud, ["+New.", "-New."]);
});

test("V6. a session that did not wait says the held phrase again", () => {
  const { session, queue, say } = opened();
  queue.speaksAgain = true;
  say("One.", "Two.");
  session.begin();
  queue.hold();
  queue.resume();
  session.begin();
  session.end();
  session.begin();
  assert.deepEqual(session.aloud, ["+One.", "/One.", "+One.", "-One.", "+Two."]);
});

test("V6. a phrase that a session played to its end while the person spoke was not heard, and is said again", () => {
  const { session, queue, seen, say } = opened();
  queue.speaksAgain = true;
  say("One.", "Two.");
  session.begin();
  queue.hold();
  session.end();
  assert.deepEqual(seen.ended, []);
  queue.resume();
  session.begin();
  session.end();
  session.begin();
  assert.deepEqual(session.aloud, ["+One.", "-One.", "+One.", "-One.", "+Two."]);
});

test("V7. what a lost connection was saying is said again on the next one", () => {
  const { session, queue, say } = opened();
  say("One.", "Two.");
  session.begin();
  queue.suspend();
  assert.equal(session.of("response.create").length, 1);
  queue.open();
  assert.deepEqual(
    session.of("response.create").map((event) => event.response.metadata.phrase_id),
    ["1:0", "1:0"],
  );
});

test("V6. no two voices overlap and nothing late is heard, whatever the order of events", () => {
  let seed = 7;
  const random = (below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  for (let round = 0; round < 300; round += 1) {
    const { session, queue, clock, say } = opened({ silentIds: random(2) === 0 });
    const can = [
      () => say("A.", "B."),
      () => queue.begin(),
      () => queue.hold(),
      () => queue.resume(),
      () => queue.interrupt(),
      () => session.name(),
      () => session.playing === null && session.begin(),
      () => session.end(),
      () => clock.pass(random(1000)),
    ];
    for (let step = 0; step < 80; step += 1) {
      can[random(can.length)]();
      assert.ok(session.live.length <= 1, "one phrase at a time");
      if (session.playing === null || session.held) continue;
      assert.equal(session.playing.metadata.phrase_id, queue.active?.phrase.id, "what is heard is what is meant");
    }
  }
});
