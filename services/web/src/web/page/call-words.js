// Plain words for what a call is doing.

/** @import { Connection, Doing } from "./voice" */
/** @import { Stage } from "./frames.js" */

/**
 * How the person talks.
 * @typedef {object} Talk
 * @property {"open" | "hold"} mode the open microphone, or push to talk
 * @property {boolean} muted
 * @property {boolean} held whether the key or the button is held
 * @property {boolean} touch whether there are no keys to speak of
 */

/** @type {Talk} */
export const OPEN = { mode: "open", muted: false, held: false, touch: false };

const SEARCHING = new Set(/** @type {(Stage | null)[]} */ (["asking", "waiting", "searching"]));

/**
 * What the orb means while a call stands, in words.
 * @param {Exclude<Doing, { kind: "silent" }>} doing
 * @param {Stage | null} stage of the turn that runs, if any
 * @param {Talk} talk
 * @param {string} aside what was said and asked nothing, for a while
 * @returns {string}
 */
export function doingLine(doing, stage, talk, aside = "") {
  if (talk.held || doing.kind === "hearing") return "Listening to you…";
  if (aside !== "") return doing.kind === "listening" ? `Heard “${aside}”.` : `Heard “${aside}”, and went on.`;
  if (doing.kind === "speaking") {
    if (talk.mode === "hold") return "Speaking.";
    return talk.muted ? "Speaking. You are muted." : "Speaking. Talk to interrupt.";
  }
  if (doing.kind === "thinking" || stage !== null) {
    if (SEARCHING.has(stage)) return "Searching your notes…";
    if (doing.kind === "thinking" && doing.ready) return "About to speak…";
    return stage === "answering" ? "Answering…" : "Understanding…";
  }
  if (talk.mode === "hold") return talk.touch ? "Hold the button and talk." : "Hold Space or the button, and talk.";
  return talk.muted ? "You are muted." : "Listening. Just talk.";
}

/**
 * The keys that matter now.
 * @param {Talk | null} talk null where no voice listens
 * @returns {string}
 */
export function keysLine(talk) {
  if (talk === null) return "Enter asks · Shift Enter starts a line · Esc stops an answer";
  return `${talk.mode === "hold" ? "Space talks" : "M mutes"} · Esc silences · / types`;
}

/**
 * What the orb shows: it moves with the agent's voice alone.
 * @param {Connection} connection
 * @param {Stage | null} stage
 * @returns {"failed" | "waiting" | "idle" | "searching" | "answering" | "listening" | "hearing" | "speaking"}
 */
export function orbState(connection, stage) {
  const doing = connection.kind === "on" ? connection.doing.kind : "silent";
  const ready = connection.kind === "on" && connection.doing.kind === "thinking" && connection.doing.ready;
  if (doing === "hearing" || doing === "speaking") return doing;
  if (doing === "thinking" && stage === null) return ready ? "answering" : "searching";
  if (stage !== null) return stage === "answering" ? "answering" : "searching";
  if (connection.kind === "failed") return "failed";
  if (connection.kind === "starting" || connection.kind === "returning") return "waiting";
  return doing === "listening" ? "listening" : "idle";
}

/**
 * The part of a text that is being said, in pieces that fit the line.
 * @param {string} text
 * @param {number} share of it that was said, from 0 to 1
 * @param {number} most characters
 * @returns {string}
 */
export function captionOf(text, share, most) {
  const words = text.split(/\s+/);
  const size = text.length / Math.ceil(text.length / most);
  /** @type {string[]} */
  const parts = [];
  for (const word of words) {
    const last = parts.at(-1);
    if (last === undefined || last.length + word.length / 2 > size) parts.push(word);
    else parts[parts.length - 1] = `${last} ${word}`;
  }
  let reached = share * text.length;
  for (const part of parts) {
    if (reached <= part.length) return part;
    reached -= part.length + 1;
  }
  return parts.at(-1) ?? "";
}

/**
 * The line under it: what is being heard, or said.
 * @param {Connection} connection
 * @param {string} said what the last utterance said, as long as nothing newer is known
 * @param {number} most characters of it that fit
 * @returns {{ who: "You" | "Talkdown", words: string } | null}
 */
export function liveLine(connection, said, most = Infinity) {
  const doing = connection.kind === "on" ? connection.doing : null;
  switch (doing?.kind) {
    case "hearing":
      return { who: "You", words: doing.words || "…" };
    case "speaking":
      return { who: "Talkdown", words: captionOf(doing.text, shareOf(doing), most) };
    case "thinking":
      return said === "" ? null : { who: "You", words: said };
    default:
      return null;
  }
}

/** @param {Extract<Doing, { kind: "speaking" }>} doing */
function shareOf({ span: [start, end], heard }) {
  return end > start ? Math.min(1, Math.max(0, (heard - start) / (end - start))) : 0;
}

/**
 * @param {string} gone the name of the device that was in use
 * @param {string} next the name of the one that is used now, or "" for the system's choice
 * @returns {string}
 */
export function goneLine(gone, next) {
  return `${gone ? `“${gone}”` : "The microphone"} is gone. Going on with ${next ? `“${next}”` : "the system's choice"}.`;
}
