import assert from "node:assert/strict";
import { test } from "node:test";
import { opening as wanted, placeOf } from "../../src/web/page/live-events.js";
import { LiveRefused, LiveWire } from "../../src/web/page/live-wire.js";

class FakeSocket extends EventTarget {
  readyState = 0;
  bufferedAmount = 0;
  sent = [];

  send(data) {
    this.sent.push(data);
  }

  close(code) {
    this.closed = code;
    this.readyState = 3;
  }

  opens() {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }

  says(data) {
    const told = data instanceof ArrayBuffer ? data : JSON.stringify(data);
    this.dispatchEvent(Object.assign(new Event("message"), { data: told }));
  }

  ends(code, reason = "") {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason }));
  }
}

/** Notes what is played. */
class FakeSound {
  played = [];
  held = false;
  blocked = false;

  add(id, samples) {
    this.played.push([id, [...samples]]);
  }

  end(id) {
    this.played.push([id, "end"]);
  }

  hold(held) {
    this.held = held;
  }

  clear() {
    this.played.push("clear");
  }

  levels = () => ({ agent: 0.5, microphone: 0.5 });
  close() {
    this.closed = true;
  }
}

function opening() {
  const socket = new FakeSocket();
  const sound = new FakeSound();
  const seen = { events: [], lost: [], protocols: null, rate: null, captured: null };
  const ended = new AbortController();
  const opened = LiveWire.open({
    microphone: {},
    url: "ws://localhost/v1/graph/live",
    credential: "ek_1",
    wanted: wanted({ orchestrator: "cascade", byHand: true }),
    connect: (_url, protocols) => ((seen.protocols = protocols), socket),
    sound: async (_microphone, listener, rate) => {
      Object.assign(seen, { rate, captured: listener.captured });
      await seen.soundWaits;
      return sound;
    },
    listener: {
      event: ({ type }) => seen.events.push(type),
      began: () => undefined,
      played: () => undefined,
      idle: () => undefined,
      lost: (...how) => seen.lost.push(how),
      blocked: () => undefined,
    },
    signal: ended.signal,
  });
  return { socket, sound, seen, opened, ended };
}

async function standing() {
  const all = opening();
  all.socket.opens();
  all.socket.says({ type: "ready", agent: "concierge" });
  return { ...all, wire: await all.opened };
}

const pcm = (...samples) => new Int16Array(samples).buffer;

test("L8. the first frame says what is wanted, and the session stands when it is ready", async () => {
  const { socket, seen, opened } = opening();
  assert.deepEqual(socket.sent, []);
  socket.opens();
  assert.deepEqual(socket.sent.map((frame) => JSON.parse(frame)), [{ orchestrator: "cascade", vad: { enabled: false } }]);
  socket.says({ type: "ready", agent: "concierge" });
  const wire = await opened;
  assert.equal(wire.ready.agent, "concierge");
  assert.deepEqual(seen.protocols, ["realtime", "openai-insecure-api-key.ek_1"]);
  assert.equal(seen.rate, 16_000);
});

test("the microphone goes up as it is, and only while it is let in", async () => {
  const { socket, seen, wire } = await standing();
  const sent = socket.sent.length;
  seen.captured(pcm(1, 2));
  wire.listen(false);
  seen.captured(pcm(3, 4));
  assert.deepEqual(socket.sent.slice(sent).map((frame) => [...new Int16Array(frame)]), [[1, 2]]);
  assert.equal(wire.levels().microphone, 0);
});

test("V6. sound belongs to the response that was begun, and none that is late is played", async () => {
  const { socket, sound, wire } = await standing();
  socket.says(pcm(9));
  socket.says({ type: "response_started", response_id: "old" });
  socket.says(pcm(1));
  socket.says({ type: "interrupted" });
  socket.says(pcm(2));
  socket.says({ type: "response_started", response_id: "new" });
  socket.says(pcm(3));
  socket.says({ type: "response_ended", response_id: "new" });
  assert.deepEqual(sound.played, [["old", [1]], "clear", ["new", [3]], ["new", "end"]]);
  wire.silence();
  socket.says(pcm(4));
  assert.deepEqual(sound.played.at(-1), "clear");
});

test("V7. a lost connection may come back, unless it was sent away", async () => {
  for (const [code, reason, told] of [
    [1006, "", ["The voice connection was closed.", true]],
    [1001, "Talkdown is shutting down.", ["Talkdown is shutting down.", true]],
    [1000, "Nothing was said.", ["Nothing was said.", false]],
    [1008, "Too slow.", ["Too slow.", false]],
    [1013, "All are taken.", ["All are taken.", false]],
  ]) {
    const { socket, seen, sound } = await standing();
    socket.ends(code, reason);
    socket.says({ type: "turn_started" });
    assert.deepEqual(seen.lost, [told]);
    assert.deepEqual(seen.events, []);
    assert.equal(sound.closed, true);
  }
});

test("V7. a session that ended with an error of its own is not opened again, unless its process stops", async () => {
  for (const [code, may] of [
    [1011, false],
    [1008, false],
    [1001, true],
    [1006, false],
  ]) {
    const { socket, seen } = await standing();
    socket.says({ type: "error", code: "answer_cut", message: "The answer was cut.", fatal: false });
    socket.says({ type: "error", code: "reconnect_failed", message: "The provider did not take the session.", fatal: true });
    socket.ends(code, "a short reason");
    assert.deepEqual(seen.lost, [["The provider did not take the session.", may]], String(code));
  }
  const { socket, seen } = await standing();
  socket.says({ type: "error", code: "answer_cut", message: "The answer was cut.", fatal: false });
  socket.ends(1011, "");
  assert.deepEqual(seen.lost.map(([, may]) => may), [true]);
});

test("a session that fails while it opens is not tried again", async () => {
  const { socket, opened } = opening();
  socket.opens();
  socket.says({ type: "error", code: "internal", message: "Something failed here.", fatal: true });
  socket.ends(1011, "Something");
  await assert.rejects(opened, (error) => error instanceof LiveRefused && !error.again && /failed here/.test(error.message));
});

test("a session that is refused says why, in the server's own sentence", async () => {
  const told = opening();
  told.socket.opens();
  told.socket.says({ type: "error", code: "invalid_config", message: "There is no agent `x`." });
  told.socket.ends(1008, "There is no");
  await assert.rejects(told.opened, (error) => error instanceof LiveRefused && !error.again && /no agent/.test(error.message));
  const closed = opening();
  closed.socket.ends(1006);
  await assert.rejects(closed.opened, (error) => error instanceof LiveRefused && error.again);
  const stopped = opening();
  stopped.ended.abort();
  await assert.rejects(stopped.opened);
  assert.equal(stopped.socket.closed, 1000);
});

test("a network that takes nothing any more is a lost connection", async () => {
  const { socket, seen } = await standing();
  socket.bufferedAmount = 200_000;
  seen.captured(pcm(1));
  assert.deepEqual(seen.lost, [["The network to the voice is gone.", true]]);
});

test("words are found in their text behind those that were said before, marks between them passed by", () => {
  const text = "The code is **ORCHID-47** [1]; the code opens it.";
  assert.deepEqual(placeOf("The code", text, 0), [0, 8]);
  assert.deepEqual(placeOf(" the code", text, 12), [31, 39]);
  assert.equal(placeOf("nothing of this kind", text, 40), null);
  assert.equal(placeOf(" … ", text, 0), null);
});

test("a session that ends while its sound is being opened is refused, is not lost, and leaves no sound behind", async () => {
  const { socket, sound, seen, opened } = opening();
  let opens = () => undefined;
  seen.soundWaits = new Promise((resolve) => (opens = resolve));
  socket.opens();
  socket.says({ type: "ready" });
  await new Promise((resolve) => setTimeout(resolve));
  socket.ends(1001, "The service is stopping.");
  opens();
  await assert.rejects(opened, LiveRefused);
  assert.deepEqual(seen.lost, []);
  assert.equal(sound.closed, true);
});
