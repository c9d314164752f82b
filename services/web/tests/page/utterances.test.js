import assert from "node:assert/strict";
import { test } from "node:test";
import { Utterances, asksForSilence, isBackchannel } from "../../src/web/page/utterances.js";

const committed = (id) => ({ type: "input_audio_buffer.committed", item_id: id });
const completed = (id, transcript) => ({
  type: "conversation.item.input_audio_transcription.completed", item_id: id, transcript,
});
const delta = (id, words) => ({ type: "conversation.item.input_audio_transcription.delta", item_id: id, delta: words });

function heard(...events) {
  const utterances = new Utterances();
  return events.map((event) => utterances.handle(event)).at(-1);
}

test("V3. a committed utterance is one question, and its transcript is what is asked", () => {
  const utterances = new Utterances();
  utterances.handle(committed("a"));
  assert.deepEqual(utterances.handle(completed("a", "  What is it? ")), { kind: "question", itemId: "a", text: "What is it?" });
  assert.equal(utterances.handle(completed("a", "What is it?")), null);
});

test("V3. the transcript of an older utterance is shown and not asked", () => {
  assert.deepEqual(heard(committed("a"), committed("b"), completed("a", "Old?")), { kind: "late", itemId: "a", text: "Old?" });
});

test("V3. speech that only began takes nothing from the utterance before it", () => {
  const begun = { type: "input_audio_buffer.speech_started", item_id: "b", audio_start_ms: 0 };
  assert.equal(heard(committed("a"), begun, completed("a", "What?")).kind, "question");
});

test("V3. what is blank, or over 2,000 characters, is no question", () => {
  assert.equal(heard(committed("a"), completed("a", "  ")).kind, "blank");
  assert.equal(heard(committed("a"), completed("a", "😀".repeat(2000))).kind, "question");
  assert.equal(heard(committed("a"), completed("a", "😀".repeat(2001))).kind, "long");
});

test("words are shown as they come", () => {
  const begun = { type: "input_audio_buffer.speech_started", item_id: "a", audio_start_ms: 0 };
  assert.deepEqual(heard(begun, delta("a", "What "), delta("a", "is")), { kind: "words", text: "What is" });
});

test("V10. listening is no question", () => {
  for (const text of ["Mhm.", "mm-hmm", "Uh-huh.", "Okay.", "Yeah, yeah.", "I see.", "Right, got it.", "Hmm...", "Ah."]) {
    assert.ok(isBackchannel(text), text);
  }
  for (const text of ["What?", "Yes, and where is it?", "Stop.", "No.", "Right side or left side?", "", "m".repeat(39) + "x"]) {
    assert.ok(!isBackchannel(text), text);
  }
});

test("who asks for silence asks nothing else", () => {
  for (const said of ["Stop.", "Hold on, stop!", "Thank you.", "That’s enough", "Danke!"]) assert.ok(asksForSilence(said), said);
  for (const said of ["Stop the boiler?", "What does enough mean?", "", "Wait for the gauge?"]) assert.ok(!asksForSilence(said), said);
});
