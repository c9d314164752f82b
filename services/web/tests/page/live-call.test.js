import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveCall } from "../../src/web/page/live-call.js";
import { LiveRefused } from "../../src/web/page/live-wire.js";
import { FakeClock, FakeLive, FakeTurn } from "./live-fakes.js";

globalThis.location ??= { href: "http://localhost:3000/" };

function call(outcomes = [], ready = {}) {
  const clock = new FakeClock();
  const seen = { shown: [], wires: [], openings: [], secrets: 0, released: 0 };
  const track = { addEventListener: () => undefined, stop: () => (seen.released += 1) };
  const microphone = { getTracks: () => [track], getAudioTracks: () => [track] };
  const it = new LiveCall(
    "chat-1",
    {
      browser: { isSecureContext: true },
      microphone: async () => microphone,
      credential: async () => ({ value: `ek_${(seen.secrets += 1)}`, voice: "openai", url: null, session: { id: "sess_1" } }),
      connect: () => undefined,
      changed: (connection) => seen.shown.push(connection),
      orchestrator: "live",
      note: "because",
      asked: (question) => new FakeTurn(question),
      interrupted: () => undefined,
      agent: () => undefined,
    },
    {
      clock,
      open: async (opening) => {
        seen.openings.push(opening);
        const outcome = outcomes.shift();
        if (outcome) throw outcome;
        seen.wires.push(new FakeLive(ready));
        return seen.wires.at(-1);
      },
    },
  );
  return { it, clock, seen, kinds: () => seen.shown.map(({ kind }) => kind), now: () => seen.shown.at(-1) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("V2. a call opens with a short-lived credential at our own origin, whoever the provider is", async () => {
  const { it, seen, now } = call();
  await it.start();
  const [opening] = seen.openings;
  assert.equal(opening.url, "ws://localhost:3000/v1/graph/live");
  assert.equal(opening.credential, "ek_1");
  assert.deepEqual(opening.wanted, { orchestrator: "live", vad: { enabled: true } });
  assert.deepEqual([now().kind, now().transport, now().note], ["on", "server", "because"]);
  it.stop();
  assert.equal(seen.released, 1);
  assert.equal(seen.wires[0].closed, true);
});

test("V7. a lost connection comes back by itself with a new credential, and waits longer each time", async () => {
  const { it, clock, seen, kinds, now } = call([undefined, new LiveRefused("not yet", true)]);
  await it.start();
  seen.openings[0].listener.lost("gone", true);
  assert.equal(now().kind, "returning");
  await settled();
  clock.pass(250);
  await settled();
  clock.pass(400);
  await settled();
  assert.equal(seen.openings.length, 2);
  clock.pass(200);
  await settled();
  assert.equal(now().kind, "on");
  assert.deepEqual(seen.openings.map(({ credential }) => credential), ["ek_1", "ek_2", "ek_3"]);
  assert.equal(kinds().filter((kind) => kind === "returning").length, 2);
});

test("V7. what is refused for good ends the call with the server's sentence and what to do", async () => {
  const { it, clock, seen, now } = call([undefined, new LiveRefused("All voice sessions are taken.", false)]);
  await it.start();
  seen.openings[0].listener.lost("gone", true);
  await settled();
  clock.pass(250);
  await settled();
  assert.equal(now().kind, "failed");
  assert.match(now().problem.message, /All voice sessions are taken/);
  assert.match(now().problem.remedy, /Press Start/);
  const sent = call();
  await sent.it.start();
  sent.seen.openings[0].listener.lost("Nothing was said for 10 minutes.", false);
  await settled();
  assert.match(sent.now().problem.message, /Nothing was said/);
});

test("L9. a session takes turns in one way to its end, so another one takes its place", async () => {
  const { it, seen, now } = call();
  await it.start();
  it.pushToTalk(true);
  await settled();
  await settled();
  assert.equal(seen.wires[0].closed, true);
  assert.deepEqual(seen.openings[1].wanted.vad, { enabled: false });
  assert.equal(now().kind, "on");
  assert.equal(seen.wires[1].open, false);
});

test("V1. a call that is stopped while it opens or returns lets nothing late in", async () => {
  const { it, seen, kinds } = call();
  await it.start();
  seen.openings[0].listener.lost("gone", true);
  it.stop();
  const shown = kinds().length;
  await settled();
  seen.openings[0].listener.event({ type: "speech_started" });
  assert.equal(kinds().length, shown);
  assert.equal(seen.openings.length, 1);
});

test("answers of a model are told as such, and those of the notes are not", async () => {
  for (const [ready, byModel] of [
    [{}, false],
    [{ orchestrator: "live", leaves: { what: "voice", to: "api.openai.com" } }, true],
    [{ leaves: { what: "questions", to: "models.example" } }, true],
  ]) {
    const { it } = call([], ready);
    await it.start();
    assert.equal(it.byModel, byModel);
    it.stop();
  }
});

test("V2. a call whose sound goes to a provider says so", async () => {
  const { it, now } = call([], { leaves: { what: "voice", to: "api.openai.com" } });
  await it.start();
  assert.equal(now().note, "because In this call your voice, questions and passages of your notes go to api.openai.com.");
});
