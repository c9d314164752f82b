import assert from "node:assert/strict";
import { test } from "node:test";
import { Call } from "../../src/web/page/call.js";
import { asked } from "../../src/web/page/frames.js";
import { NotReached } from "../../src/web/page/webrtc.js";
import { FakeClock, FakeSession } from "./call-fakes.js";

globalThis.location ??= { href: "http://localhost:3000/" };

function microphone() {
  const track = new EventTarget();
  track.stop = () => (track.stopped = true);
  return { track, getTracks: () => [track], getAudioTracks: () => [track] };
}

/** A call whose transports are opened by the test: each opening takes the next of `outcomes`. */
function calling({ voice = "local", outcomes = [], microphones = [microphone()], around = null } = {}) {
  const clock = around?.clock ?? new FakeClock();
  const seen = { shown: [], credentials: 0, openings: [], timeline: [], sdp: [], asked: [], microphones };
  const open = (kind) => async (opening) => {
    seen.openings.push(kind);
    const outcome = outcomes.shift();
    if (outcome instanceof Error) throw outcome;
    if (kind === "webrtc") seen.sdp.push(await opening.answerTo("offer"));
    const session = new FakeSession((event) => opening.listener.event(event));
    Object.assign(seen, { session, opening });
    return Object.assign(session.transport, { kind, close: () => (session.closed = true) });
  };
  const given = [...microphones];
  const call = new Call(
    "chat",
    {
      credential: async () => {
        seen.credentials += 1;
        const url = voice === "openai" ? "https://far.example/v1/realtime" : null;
        const session = { id: "sess_1", model: "m", audio: { input: { transcription: { model: "t", keywords: ["ORCHID-47"] } } } };
        return { value: `ek_${seen.credentials}`, voice, url, session, expires_at: 0, chat_id: "chat" };
      },
      browser: { isSecureContext: true },
      microphone: async () => {
        const next = given.shift();
        if (next === undefined) throw Object.assign(new Error(), { name: "NotFoundError" });
        return next;
      },
      connect: () => assert.fail("the transport connects"),
      changed: (connection) => seen.shown.push(connection),
      ask: (question) => seen.asked.push(question),
      timeline: (callId, moments) => seen.timeline.push([callId, moments]),
    },
    Object.assign((around ??= {}), {
      webrtc: open("webrtc"),
      websocket: open("websocket"),
      answerTo: async (url, offer, credential) => `${url} ${offer} ${credential}`,
      clock,
    }),
  );
  return { call, around, clock, seen, shown: () => seen.shown.at(-1) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("V1. Start asks for the microphone, then for a credential, then connects", async () => {
  const { call, seen, shown } = calling();
  await call.start();
  assert.deepEqual(seen.shown.slice(0, 2), [
    { kind: "starting", step: "microphone" },
    { kind: "starting", step: "connection" },
  ]);
  assert.deepEqual(seen.sdp, ["/v1/realtime/calls offer ek_1"]);
  const { kind, transport, note, doing } = shown();
  assert.deepEqual([kind, transport, note, doing.kind], ["on", "webrtc", null, "listening"]);
});

test("V2. where the credential is the provider's, the offer goes to the provider", async () => {
  const { call, seen } = calling({ voice: "openai" });
  await call.start();
  assert.deepEqual(seen.sdp, ["https://far.example/v1/realtime/calls offer ek_1"]);
  const [{ session }] = seen.session.of("session.update");
  assert.deepEqual(session.audio.input.transcription, { model: "t", keywords: ["ORCHID-47"] });
});

test("V1. Stop ends the tracks and the connection, and nothing late is shown", async () => {
  const { call, seen } = calling();
  await call.start();
  const before = seen.shown.length;
  call.stop();
  seen.session.says("Late?");
  seen.opening.listener.lost("late", true);
  await settled();
  assert.ok(seen.microphones[0].track.stopped);
  assert.ok(seen.session.closed);
  assert.equal(seen.shown.length, before);
  assert.deepEqual(seen.asked, []);
});

test("V1. a microphone that comes after Stop is given back", async () => {
  const { call, seen } = calling();
  const starting = call.start();
  call.stop();
  await starting;
  assert.ok(seen.microphones[0].track.stopped);
  assert.deepEqual(seen.openings, []);
});

test("where UDP does not reach, the call falls back to the WebSocket with a credential of its own, and says so", async () => {
  const { call, seen, shown } = calling({ outcomes: [new NotReached("no")] });
  await call.start();
  assert.deepEqual(seen.openings, ["webrtc", "websocket"]);
  assert.equal(seen.opening.credential, "ek_2");
  assert.equal(shown().transport, "websocket");
  assert.match(shown().note, /WebSocket/);
});

test("WebRTC that did not get through is not tried again at once by the next call, and after a while it is", async () => {
  const { call, around, clock } = calling({ outcomes: [new NotReached("no")] });
  await call.start();
  const next = calling({ around });
  await next.call.start();
  assert.deepEqual(next.seen.openings, ["websocket"]);
  assert.match(next.shown().note, /WebSocket/);
  clock.pass(600_000);
  const later = calling({ around });
  await later.call.start();
  assert.deepEqual(later.seen.openings, ["webrtc"]);
  assert.equal(later.shown().note, null);
});

test("a session that is refused is no reason to try another transport", async () => {
  const { call, seen, shown } = calling({ outcomes: [new Error("All places are taken.")] });
  await call.start();
  assert.deepEqual(seen.openings, ["webrtc"]);
  assert.match(shown().problem.message, /All places are taken/);
  assert.ok(seen.microphones[0].track.stopped);
});

test("V7. a lost connection comes back by itself, with a new credential for the same chat", async () => {
  const { call, clock, seen, shown } = calling({ outcomes: [null, new Error("not yet")] });
  await call.start();
  seen.opening.listener.lost("gone", true);
  assert.deepEqual(shown(), { kind: "returning", attempt: 1 });
  clock.pass(250);
  await settled();
  assert.deepEqual(shown(), { kind: "returning", attempt: 2 });
  clock.pass(500);
  await settled();
  assert.equal(shown().kind, "on");
  assert.equal(seen.credentials, 3);
});

test("V7. one that may not return, or does not, asks for Start again", async () => {
  const { call, seen, shown } = calling();
  await call.start();
  seen.opening.listener.lost("The session was idle.", false);
  await settled();
  assert.equal(shown().kind, "failed");
  assert.match(shown().problem.message, /idle/);
  assert.match(shown().problem.remedy, /Start/);

  const other = calling({ outcomes: [null, ...Array.from({ length: 15 }, () => new Error("no"))] });
  await other.call.start();
  other.seen.opening.listener.lost("gone", true);
  for (let tries = 0; tries < 15; tries += 1) {
    other.clock.pass(5000);
    await settled();
  }
  assert.equal(other.shown().problem.code, "lost");
  assert.ok(other.seen.microphones[0].track.stopped);
});

test("V12. a microphone that is unplugged is replaced by what is left, or the person is told", async () => {
  const microphones = [microphone(), microphone()];
  const { call, seen, shown } = calling({ microphones });
  await call.start();
  microphones[0].track.dispatchEvent(new Event("ended"));
  await settled();
  assert.ok(microphones[0].track.stopped);
  assert.equal(shown().problem, null);
  microphones[1].track.dispatchEvent(new Event("ended"));
  await settled();
  assert.equal(shown().problem.code, "ended");
  assert.equal(shown().kind, "on");
  assert.equal(seen.credentials, 1);
});

test("V12. sound that the browser keeps back is said, until it is let through", async () => {
  const { call, seen, shown } = calling();
  await call.start();
  seen.opening.listener.blocked();
  assert.equal(shown().problem.code, "blocked");
  await call.unblock();
  assert.equal(shown().problem, null);
});

test("the silent voice tries the microphone and gives it back", async () => {
  const { call, seen, shown } = calling({ voice: "simulated" });
  await call.start();
  assert.deepEqual(seen.openings, ["websocket"]);
  assert.equal(seen.opening.microphone, null);
  assert.ok(seen.microphones[0].track.stopped);
  assert.deepEqual(shown().doing, { kind: "silent" });
});

test("the gateway is told what happened, under the turn that the speech asked for", async () => {
  const { call, clock, seen } = calling();
  await call.start();
  seen.session.says("What?");
  const turn = { ...asked("What?"), turnId: "t1", text: "One.", stage: "done" };
  call.speak().changed(turn);
  clock.pass(2000);
  const [[callId, moments]] = seen.timeline;
  assert.equal(callId, "sess_1");
  assert.deepEqual([...new Set(moments.map(({ turnId }) => turnId))], ["t1"]);
  assert.equal(moments[0].name, "speech_started");
});
