// The frames of an answer: read from the stream, and applied one by one to what is known of the turn.

/** @import { ErrorCode, Frame, Sentence, Source, StoredTurn } from "./wire" */

/**
 * @typedef {"asking" | "waiting" | "searching" | "answering" | "done" | "stopped" | "failed"} Stage
 *
 * @typedef {object} Turn
 * @property {string} question
 * @property {Stage} stage
 * @property {string} text the answer so far
 * @property {Source[]} sources
 * @property {Sentence[]} sentences
 * @property {boolean} abstained
 * @property {boolean} byModel whether a model wrote it in a call, where nobody checks it against the notes
 * @property {string | null} turnId
 * @property {string | null} traceId
 * @property {string | null} cursor where a reader that comes back goes on
 * @property {number | null} heard code points of an answer that speech broke off; null for one that it did not
 * @property {{ code: string, message: string } | null} problem
 * @property {number} version grows when the text is replaced and not only longer
 */

export const ENDED = new Set(/** @type {Stage[]} */ (["done", "stopped", "failed"]));

/**
 * A turn that nobody has heard of yet.
 * @param {string} question
 * @returns {Turn}
 */
export function asked(question) {
  return {
    question,
    stage: "asking",
    text: "",
    sources: [],
    sentences: [],
    abstained: false,
    byModel: false,
    turnId: null,
    traceId: null,
    cursor: null,
    heard: null,
    problem: null,
    version: 0,
  };
}

/**
 * The turn after one more frame. A frame of a later kind than we know changes the cursor alone.
 * @param {Turn} turn
 * @param {Frame} frame
 * @returns {Turn}
 */
export function applied(turn, frame) {
  const next = { ...turn, cursor: frame.cursor ?? turn.cursor };
  switch (frame.type) {
    case "accepted":
      return { ...next, turnId: frame.turn_id, traceId: frame.trace_id };
    case "status":
      return { ...next, stage: frame.stage };
    case "sources":
      return { ...next, sources: frame.sources };
    case "delta":
      return { ...next, text: turn.text + frame.text };
    case "sentence":
      return { ...next, sentences: [...turn.sentences, frame] };
    case "snapshot":
      return {
        ...next,
        text: frame.answer,
        sources: frame.sources,
        sentences: frame.sentences,
        version: turn.version + 1,
      };
    case "done": {
      const replaced = frame.answer !== turn.text;
      return {
        ...next,
        stage: "done",
        text: frame.answer,
        sources: frame.sources,
        abstained: frame.abstained ?? false,
        version: replaced ? turn.version + 1 : turn.version,
      };
    }
    case "error":
      return failed(next, frame.code, frame.message);
    default:
      return next;
  }
}

/**
 * The turn as it ends without an answer. What was stopped on purpose is no failure.
 * @param {Turn} turn
 * @param {ErrorCode | string} code
 * @param {string} message
 * @returns {Turn}
 */
export function failed(turn, code, message) {
  const stopped = code === "cancelled" || code === "interrupted";
  return { ...turn, stage: stopped ? "stopped" : "failed", problem: { code, message } };
}

/**
 * A stored turn, as if its frames had just been read.
 * @param {StoredTurn} stored
 * @returns {Turn}
 */
export function restored(stored) {
  const turn = {
    ...asked(stored.question),
    turnId: stored.turn_id,
    traceId: stored.trace_id,
    text: stored.answer ?? "",
    sources: stored.sources,
    sentences: stored.sentences,
    abstained: stored.abstained,
  };
  switch (stored.status) {
    case "completed":
      return { ...turn, stage: "done" };
    case "waiting":
    case "running":
      return { ...turn, stage: "waiting", text: "", sentences: [] };
    case "cancelled":
      return failed(turn, "cancelled", stored.error_message ?? "The answer was stopped.");
    case "interrupted":
      return failed({ ...turn, heard: stored.heard }, "interrupted", stored.error_message ?? "The answer was interrupted here.");
    default:
      return failed(turn, stored.error_code ?? "internal", stored.error_message ?? "The answer failed. Ask again.");
  }
}

/**
 * The frames of a body of newline-delimited JSON, as they come; half a line waits for its rest.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<Frame, void, undefined>}
 */
export async function* framesOf(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = /** @type {string} */ (lines.pop());
      for (const line of lines) if (line) yield JSON.parse(line);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
