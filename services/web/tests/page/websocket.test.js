import assert from "node:assert/strict";
import { test } from "node:test";
import { silence } from "../../src/web/page/events.js";
import { OverWebSocket } from "../../src/web/page/websocket.js";

class FakeSocket extends EventTarget {
  readyState = 1;
  bufferedAmount = 0;
  sent = [];

  send(data) {
    this.sent.push(JSON.parse(data));
  }

  close(code, reason) {
    this.closed = [code, reason];
  }

  says(event) {
    this.dispatchEvent(Object.assign(new Event("message"), { data: JSON.stringify(event) }));
  }

  ends(code, reason = "") {
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason }));
  }
}

function opening(paced = true) {
  const socket = new FakeSocket();
  const seen = { events: [], lost: [], protocols: null };
  const ended = new AbortController();
  const opened = OverWebSocket.open({
    microphone: null,
    url: "ws://localhost/v1/realtime",
    credential: "ek_1",
    paced,
    connect: (_url, protocols) => ((seen.protocols = protocols), socket),
    listener: {
      event: ({ type }) => seen.events.push(type),
      lost: (...how) => seen.lost.push(how),
      blocked: () => undefined,
    },
    signal: ended.signal,
  });
  return { socket, seen, opened, ended };
}

test("V2. a connection offers its credential as a subprotocol, and stands when the session says so", async () => {
  const { socket, seen, opened } = opening();
  socket.says({ type: "session.created" });
  assert.equal((await opened).kind, "websocket");
  assert.deepEqual(seen.protocols, ["realtime", "openai-insecure-api-key.ek_1"]);
});

test("a session that refuses says why", async () => {
  const closed = opening();
  closed.socket.ends(1013, "No room.");
  await assert.rejects(closed.opened, /No room/);
  const told = opening();
  told.socket.says({ type: "error", error: { message: "The credential is used up." } });
  await assert.rejects(told.opened, /used up/);
  assert.deepEqual(told.socket.closed, [1000, "stopped"]);
});

test("V1. a connection that is stopped while it opens is closed", async () => {
  const { socket, opened, ended } = opening();
  ended.abort();
  await assert.rejects(opened);
  assert.deepEqual(socket.closed, [1000, "stopped"]);
});

test("V7. a lost connection may come back, unless it was sent away", async () => {
  for (const [code, reason, told] of [
    [1006, "", ["The voice connection was closed.", true]],
    [1001, "The gateway stops.", ["The gateway stops.", true]],
    [1000, "The session was idle.", ["The session was idle.", false]],
    [1008, "Too slow.", ["Too slow.", false]],
  ]) {
    const { socket, seen, opened } = opening();
    socket.says({ type: "session.created" });
    await opened;
    socket.ends(code, reason);
    socket.says({ type: "response.created", response: { id: "late" } });
    assert.deepEqual(seen.lost, [told]);
    assert.ok(!seen.events.includes("response.created"));
  }
});

test("V11. sound is counted as it comes, but none of a response that was cleared", async () => {
  const { socket, opened } = opening();
  socket.says({ type: "session.created" });
  const transport = await opened;
  const delta = btoa("\0".repeat(4800));
  socket.says({ type: "response.created", response: { id: "r" } });
  socket.says({ type: "response.output_audio.delta", response_id: "r", delta });
  assert.equal(transport.received("r"), 100);
  transport.clear();
  socket.says({ type: "response.output_audio.delta", response_id: "r", delta });
  assert.equal(transport.received("r"), null);
});

test("a provider that has no output buffer over the WebSocket is not asked to clear it", async () => {
  for (const paced of [true, false]) {
    const { socket, opened } = opening(paced);
    socket.says({ type: "session.created" });
    (await opened).send(silence());
    assert.equal(socket.sent.length, paced ? 1 : 0);
  }
});
