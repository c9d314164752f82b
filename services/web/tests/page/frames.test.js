import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ENDED, applied, asked, framesOf, restored } from "../../src/web/page/frames.js";

const example = (name) =>
  JSON.parse(readFileSync(new URL(`../../../../contracts/examples/${name}.json`, import.meta.url), "utf8"));

/** A body that arrives in pieces cut at these byte offsets. */
function body(text, ...cuts) {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      let from = 0;
      for (const cut of [...cuts, bytes.length]) {
        controller.enqueue(bytes.slice(from, cut));
        from = cut;
      }
      controller.close();
    },
  });
}

async function all(stream) {
  const frames = [];
  for await (const frame of framesOf(stream)) frames.push(frame);
  return frames;
}

test("the frames of the contract make a turn that is done", () => {
  let turn = asked("What is the code?");
  for (const kind of ["accepted", "status", "sources", "delta", "sentence", "done"]) {
    turn = applied(turn, example(`frame.${kind}`));
  }
  assert.equal(turn.stage, "done");
  assert.equal(turn.turnId, example("frame.accepted").turn_id);
  assert.equal(turn.text, example("frame.done").answer);
  assert.equal(turn.sources.length, example("frame.done").sources.length);
  assert.equal(turn.cursor, example("frame.done").cursor);
});

test("deltas are joined, and done replaces them only when it differs", () => {
  let turn = asked("?");
  for (const text of ["Its code", " is 😀", "."]) turn = applied(turn, { type: "delta", text, cursor: "1-1" });
  const same = applied(turn, { type: "done", answer: "Its code is 😀.", sources: [], cursor: "1-2" });
  assert.equal(same.version, turn.version);
  const other = applied(turn, { type: "done", answer: "Its code.", sources: [], cursor: "1-2" });
  assert.equal(other.text, "Its code.");
  assert.notEqual(other.version, turn.version);
});

test("a snapshot replaces what was read of the answer", () => {
  const half = applied(asked("?"), { type: "delta", text: "Its", cursor: "1-1" });
  const turn = applied(half, example("frame.snapshot"));
  assert.equal(turn.text, example("frame.snapshot").answer);
  assert.notEqual(turn.version, half.version);
});

test("an error fails the turn, and a stop only stops it", () => {
  assert.equal(applied(asked("?"), example("frame.error")).stage, "failed");
  const stopped = applied(asked("?"), { type: "error", code: "cancelled", message: "Stopped.", cursor: "1-1" });
  assert.equal(stopped.stage, "stopped");
  assert.ok(ENDED.has(stopped.stage));
});

test("a frame of a kind that is not known yet moves the cursor alone", () => {
  const turn = applied(asked("?"), { type: "tomorrow", cursor: "9-9" });
  assert.deepEqual(turn, { ...asked("?"), cursor: "9-9" });
});

test("frames are read whole wherever the bytes are cut", async () => {
  const text = '{"type":"delta","text":"Wärme 😀"}\n{"type":"delta","text":"b"}\n';
  const length = new TextEncoder().encode(text).length;
  for (let cut = 0; cut <= length; cut += 1) {
    assert.deepEqual(
      (await all(body(text, cut))).map((frame) => frame.text),
      ["Wärme 😀", "b"],
    );
  }
});

test("half a frame at the end is no frame", async () => {
  assert.deepEqual(await all(body('{"type":"delta","text":"a"}\n{"type":"do')), [{ type: "delta", text: "a" }]);
});

test("a stored turn is shown as if its frames had been read", () => {
  const turn = restored(example("agent.turn"));
  assert.equal(turn.stage, "done");
  assert.equal(turn.text, example("agent.turn").answer);
  assert.equal(restored({ ...example("agent.turn"), status: "running" }).text, "");
  assert.equal(restored({ ...example("agent.turn"), status: "failed", error_message: "So." }).problem.message, "So.");
});
