import assert from "node:assert/strict";
import { test } from "node:test";
import { OPEN, captionOf, doingLine, goneLine, liveLine, orbState } from "../../src/web/page/call-words.js";
import { changed, choices, plainName } from "../../src/web/page/devices.js";
import { Silence } from "../../src/web/page/silence.js";
import { timelineOf } from "../../src/web/page/timeline.js";
import { keep, kept } from "../../src/web/page/kept.js";

const on = (doing) => ({ kind: "on", voice: "local", transport: "webrtc", note: null, doing, problem: null });
const speaking = { kind: "speaking", turnId: "t", text: "The code is ORCHID-47.", span: [0, 22], heard: 4 };

test("each state of a call has its own words", () => {
  const hold = { ...OPEN, mode: "hold" };
  assert.equal(doingLine({ kind: "listening" }, null, OPEN), "Listening. Just talk.");
  assert.equal(doingLine({ kind: "listening" }, null, { ...OPEN, muted: true }), "You are muted.");
  assert.equal(doingLine({ kind: "listening" }, null, hold), "Hold Space or the button, and talk.");
  assert.equal(doingLine({ kind: "listening" }, null, { ...hold, touch: true }), "Hold the button and talk.");
  assert.equal(doingLine({ kind: "listening" }, null, { ...hold, held: true }), "Listening to you…");
  assert.equal(doingLine({ kind: "hearing", words: "" }, "answering", OPEN), "Listening to you…");
  assert.equal(doingLine({ kind: "thinking" }, null, OPEN), "Understanding…");
  assert.equal(doingLine({ kind: "thinking" }, "searching", OPEN), "Searching your notes…");
  assert.equal(doingLine({ kind: "thinking", ready: true }, null, OPEN), "About to speak…");
  assert.equal(doingLine({ kind: "speaking", ...speaking }, null, OPEN, "Mhm."), "Heard “Mhm.”, and went on.");
  assert.equal(doingLine({ kind: "listening" }, null, OPEN, "Stop."), "Heard “Stop.”.");
  assert.equal(doingLine({ kind: "listening" }, "answering", OPEN), "Answering…");
  assert.equal(doingLine(speaking, "answering", OPEN), "Speaking. Talk to interrupt.");
  assert.equal(doingLine(speaking, "answering", hold), "Speaking.");
});

test("the orb speaks when the agent does, whatever the turn's stage", () => {
  assert.equal(orbState(on({ kind: "thinking" }), null), "searching");
  assert.equal(orbState(on({ kind: "thinking", ready: true }), null), "answering");
  assert.equal(orbState({ kind: "off" }, null), "idle");
  assert.equal(orbState(on({ kind: "silent" }), null), "idle");
  assert.equal(orbState(on({ kind: "listening" }), null), "listening");
  assert.equal(orbState(on(speaking), "answering"), "speaking");
  assert.equal(orbState(on({ kind: "hearing", words: "" }), "answering"), "hearing");
  assert.equal(orbState(on({ kind: "thinking" }), null), "searching");
  assert.equal(orbState({ kind: "returning", attempt: 1 }, null), "waiting");
  assert.equal(orbState({ kind: "failed", problem: {} }, null), "failed");
});

test("the live line holds what is heard, then what was said, then what is spoken", () => {
  assert.equal(liveLine({ kind: "off" }, "before"), null);
  assert.deepEqual(liveLine(on({ kind: "hearing", words: "what is the amber" }), ""), { who: "You", words: "what is the amber" });
  assert.deepEqual(liveLine(on({ kind: "thinking" }), "What is it?"), { who: "You", words: "What is it?" });
  assert.deepEqual(liveLine(on(speaking), "What is it?"), { who: "Talkdown", words: speaking.text });
  assert.equal(liveLine(on({ kind: "listening" }), "What is it?"), null);
});

test("a long phrase is shown in parts that follow what is said", () => {
  const text = "Wait until the gauge above the valve has stood at 2.4 bar or more for a full minute.";
  assert.equal(captionOf(text, 0.5, 150), text);
  const parts = [0, 0.3, 0.6, 0.99].map((share) => captionOf(text, share, 45));
  assert.deepEqual([...new Set(parts)].join(" "), text);
  assert.ok(parts.every((part) => part.length < 55));
  assert.equal(captionOf("", 1, 45), "");
});

const device = (deviceId, label = "", kind = "audioinput") => ({ deviceId, label, kind });

test("a person chooses from devices, not from the system's names for them", () => {
  const all = [device("default", "Default"), device("a", "Webcam"), device("b"), device("s", "Box", "audiooutput")];
  assert.deepEqual(choices(all, "audioinput"), [{ id: "a", label: "Webcam" }, { id: "b", label: "Microphone 2" }]);
  assert.deepEqual(choices([device("")], "audioinput"), []);
  assert.equal(plainName("Jabra Evolve (0b0e:0305)"), "Jabra Evolve");
});

test("a headset that is pulled out is gone only where it was in use", () => {
  const [both, one] = [[device("a", "Webcam"), device("b", "Headset")], [device("a", "Webcam")]];
  assert.deepEqual(changed(both, one, "audioinput", "b"), { gone: { id: "b", label: "Headset" }, came: null });
  assert.deepEqual(changed(both, one, "audioinput", "a"), { gone: null, came: null });
  assert.deepEqual(changed(one, both, "audioinput", "a"), { gone: null, came: { id: "b", label: "Headset" } });
  assert.deepEqual(changed([device("")], both, "audioinput", null), { gone: null, came: null });
  assert.equal(goneLine("Headset", ""), "“Headset” is gone. Going on with the system's choice.");
  assert.match(goneLine("", "Webcam"), /^The microphone is gone. Going on with “Webcam”/);
});

test("a microphone that never gave a sound is doubted soon, and one that was heard late", () => {
  const silence = new Silence();
  assert.equal(silence.hear(0, true, 0), false);
  assert.equal(silence.hear(0, true, 9999), false);
  assert.equal(silence.hear(0, true, 10_000), true);
  assert.equal(silence.hear(0.02, true, 10_001), false);
  assert.equal(silence.hear(0, true, 11_000), false);
  assert.equal(silence.hear(0, true, 30_000), false);
  assert.equal(silence.hear(0, true, 71_000), true);
  assert.equal(silence.hear(0, false, 71_500), false, "who is muted hears no complaint");
  silence.begin();
  silence.hear(0, true, 72_000);
  assert.equal(silence.hear(0, true, 82_000), true);
});

test("the timeline of a spoken question runs from the end of speech to the first sound", () => {
  const moments = { speech_stopped: 1000, transcript: 1200, question: 1210, found: 1300, first_delta: 1310, first_phrase: 1400, first_audio: 1600 };
  const timeline = timelineOf(moments);
  assert.equal(timeline.total, 600);
  assert.deepEqual(timeline.steps[0], { name: "Understanding", from: 0, ms: 200 });
  assert.equal(timeline.steps.reduce((sum, { ms }) => sum + ms, 0), 600);
  assert.equal(timelineOf({ speech_stopped: 1000 }), null);
});

test("what was ready before its turn takes no time, and a typed question starts when it is asked", () => {
  const ready = timelineOf({ speech_stopped: 1000, transcript: 1200, question: 1210, found: 1100, first_audio: 1500 });
  assert.deepEqual(ready.steps.map(({ ms }) => ms), [200, 10, 0, 290]);
  const typed = timelineOf({ question: 100, first_audio: 400 });
  assert.deepEqual(typed, { steps: [{ name: "First sound", from: 0, ms: 300 }], total: 300, spoken: false });
});

test("a browser that keeps nothing loses only that", () => {
  const closed = () => {
    throw new Error("SecurityError");
  };
  keep(closed, "talk", "hold");
  assert.equal(kept(closed, "talk"), null);
});
