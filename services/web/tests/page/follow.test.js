import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused, Unreached } from "../../src/web/page/client.js";
import { follow } from "../../src/web/page/follow.js";
import { asked } from "../../src/web/page/frames.js";

const lines = (...frames) => new Response(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
const ACCEPTED = { type: "accepted", turn_id: "t1", trace_id: "f".repeat(32), cursor: "1-0" };
const DELTA = { type: "delta", text: "It is red.", cursor: "1-1" };
const DONE = { type: "done", answer: "It is red.", sources: [], cursor: "1-2" };

/** A web that answers each request with the next of its answers; an error is thrown. */
function scripted(...answers) {
  const requests = [];
  const next = (...request) => {
    requests.push(request);
    const answer = answers.shift();
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve(answer);
  };
  return {
    requests,
    ask: (_chat, question) => next("ask", question),
    frames: (turnId, cursor) => next("frames", turnId, cursor),
    chat: () => next("chat"),
  };
}

function follower(overrides = {}) {
  const seen = { turns: [], lost: [] };
  return {
    seen,
    changed: (turn) => seen.turns.push(turn),
    lost: (now) => seen.lost.push(now),
    isKnown: () => false,
    wait: () => Promise.resolve(),
    ...overrides,
  };
}

const none = new AbortController().signal;

test("an answer that comes whole is followed to its end", async () => {
  const web = scripted(lines(ACCEPTED, DELTA, DONE));
  const turn = await follow(web, "c", asked("?"), none, follower());
  assert.equal(turn.stage, "done");
  assert.deepEqual(web.requests, [["ask", "?"]]);
});

test("a stream that breaks off is taken up behind its last frame, and nothing is asked twice", async () => {
  const web = scripted(lines(ACCEPTED, DELTA), new Unreached("gone"), lines(DONE));
  const watching = follower();
  const turn = await follow(web, "c", asked("?"), none, watching);
  assert.equal(turn.text, "It is red.");
  assert.deepEqual(web.requests, [
    ["ask", "?"],
    ["frames", "t1", "1-1"],
    ["frames", "t1", "1-1"],
  ]);
  assert.deepEqual(watching.seen.lost, [true, true, false]);
});

test("a question whose acceptance was not heard is looked for in the chat", async () => {
  const stored = {
    turn_id: "t1", chat_id: "c", trace_id: "f".repeat(32), question: "?", status: "running", answer: null,
    abstained: false, sources: [], sentences: [], error_code: null, error_message: null,
  };
  const web = scripted(new Unreached("gone"), { turns: [stored] }, lines(ACCEPTED, DELTA, DONE));
  const turn = await follow(web, "c", asked("?"), none, follower());
  assert.equal(turn.stage, "done");
  assert.deepEqual(web.requests.map(([kind]) => kind), ["ask", "chat", "frames"]);
});

test("a question that never arrived is not asked behind the person's back", async () => {
  const web = scripted(new Unreached("gone"), new Unreached("gone"), { turns: [] });
  const turn = await follow(web, "c", asked("?"), none, follower());
  assert.equal(turn.stage, "failed");
  assert.match(turn.problem.message, /Ask it again/);
  assert.deepEqual(web.requests.map(([kind]) => kind), ["ask", "chat", "chat"]);
});

test("an older turn with the same words is not taken for this one", async () => {
  const older = { turn_id: "old", question: "?", status: "completed" };
  const web = scripted(new Unreached("gone"), { turns: [older] });
  const turn = await follow(web, "c", asked("?"), none, follower({ isKnown: (id) => id === "old" }));
  assert.equal(turn.stage, "failed");
});

test("a refusal ends the turn with its sentence", async () => {
  const web = scripted(new Refused(429, { code: "busy", message: "Four questions wait already." }));
  const turn = await follow(web, "c", asked("?"), none, follower());
  assert.deepEqual(turn.problem, { code: "busy", message: "Four questions wait already." });
});

test("after a stop nothing late is shown", async () => {
  const stop = new AbortController();
  const watching = follower();
  const web = scripted(lines(ACCEPTED, DELTA, DONE));
  watching.changed = (turn) => {
    watching.seen.turns.push(turn);
    stop.abort();
  };
  await follow(web, "c", asked("?"), stop.signal, watching);
  assert.equal(watching.seen.turns.length, 1);
});
