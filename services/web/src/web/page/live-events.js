// What passes between the page and a session that the server holds: sound in binary frames, everything else in JSON.
// The server's side of it is services/voice-gateway/src/voice_gateway/transports/bridge/messages.py.

/** @import { LiveEvent } from "./live" */

/** Samples a second of the sound that the server takes. */
export const INPUT_RATE = 16_000;

/**
 * The frame that opens a session.
 * @param {{ orchestrator: string | null, byHand: boolean }} wanted `orchestrator`: null leaves the choice to the server
 */
export function opening({ orchestrator, byHand }) {
  return { ...(orchestrator !== null && { orchestrator }), vad: { enabled: !byHand } };
}

/**
 * A message as an event; one that is none is nothing, and the session goes on.
 * @param {unknown} data
 * @returns {LiveEvent | null}
 */
export function liveEventOf(data) {
  if (typeof data !== "string") return null;
  try {
    const event = JSON.parse(data);
    return typeof event?.type === "string" ? event : null;
  } catch {
    return null;
  }
}

/**
 * Where words that are said end in the text that they are said of, which may have marks between them that are not.
 * @param {string} words
 * @param {string} text
 * @param {number} from UTF-16
 * @returns {[start: number, end: number] | null} UTF-16; null where none of the words is there
 */
export function placeOf(words, text, from) {
  let start = -1;
  let end = from;
  for (const word of words.split(/\s+/)) {
    const bare = word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
    const at = bare === "" ? -1 : text.indexOf(bare, end);
    // A word that stands only far behind is another one: what is read out is not always what is written.
    if (at < 0 || at - end > 200) continue;
    if (start < 0) start = at;
    end = at + bare.length;
  }
  return start < 0 ? null : [start, end];
}
