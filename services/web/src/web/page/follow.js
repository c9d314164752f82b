// A question followed to its end, through lost connections: the cursor says where to go on.

import { Refused, Unreached } from "./client.js";
import { ENDED, applied, failed, framesOf, restored } from "./frames.js";

/** @import { Turn } from "./frames.js" */
/** @import { Chat } from "./wire" */

/** Milliseconds between one try and the next; the last one repeats. */
const WAITS = [0, 250, 500, 1000, 2000, 3000];
/** How long a lost connection is tried for, in milliseconds. */
const PATIENCE = 120_000;
const RETRIED = new Set([502, 503, 504]);

/**
 * @typedef {object} Web
 * @property {(chatId: string, question: string, signal: AbortSignal) => Promise<Response>} ask
 * @property {(turnId: string, cursor: string | null, signal: AbortSignal) => Promise<Response>} frames
 * @property {(chatId: string, signal?: AbortSignal) => Promise<Chat>} chat
 *
 * @typedef {object} Follower
 * @property {(turn: Turn) => void} changed
 * @property {(lost: boolean) => void} lost the connection went, or came back
 * @property {(turnId: string) => boolean} isKnown whether the page already shows this turn
 * @property {(ms: number) => Promise<void>} [wait]
 */

/**
 * Ask (or take up) a turn, and tell `changed` of each step until it ends. Aborting the signal ends it in silence.
 * @param {Web} web
 * @param {string} chatId
 * @param {Turn} turn without a turn id: it is asked first
 * @param {AbortSignal} signal
 * @param {Follower} follower
 * @returns {Promise<Turn>}
 */
export async function follow(web, chatId, turn, signal, { changed, lost, isKnown, wait = pause }) {
  const show = (/** @type {Turn} */ next) => {
    turn = next;
    if (!signal.aborted) changed(turn);
  };
  let tries = 0;
  let lostAt = 0;
  let sent = turn.turnId !== null;
  const next = () => {
    if (turn.turnId !== null) return web.frames(turn.turnId, turn.cursor, signal);
    if (sent) return arrived(web, chatId, turn.question, isKnown, signal);
    sent = true;
    return web.ask(chatId, turn.question, signal);
  };
  while (!signal.aborted && !ENDED.has(turn.stage)) {
    try {
      const answer = await next();
      if (!(answer instanceof Response)) {
        show(answer ?? failed(turn, "unavailable", "The connection was lost before the question arrived. Ask it again."));
        continue;
      }
      for await (const frame of framesOf(/** @type {ReadableStream<Uint8Array>} */ (answer.body))) {
        if (signal.aborted) return turn;
        if (tries > 0) lost(false);
        tries = 0;
        show(applied(turn, frame));
      }
      if (ENDED.has(turn.stage)) return turn;
    } catch (error) {
      if (signal.aborted) return turn;
      if (error instanceof Refused && !(turn.turnId !== null && RETRIED.has(error.status))) {
        show(failed(turn, error.code, error.message));
        return turn;
      }
      if (!(error instanceof Refused || error instanceof Unreached || error instanceof TypeError)) throw error;
    }
    if (tries === 0) lostAt = Date.now();
    tries += 1;
    lost(true);
    if (Date.now() - lostAt > PATIENCE) {
      show(failed(turn, "unavailable", "The connection to Talkdown was lost and did not come back. Check that it runs, then reload."));
      return turn;
    }
    await wait(/** @type {number} */ (WAITS[Math.min(tries, WAITS.length - 1)]));
  }
  return turn;
}

/**
 * The connection went before the turn had an id: the chat knows whether the question arrived. Nothing is asked twice.
 * @param {Web} web
 * @param {string} chatId
 * @param {string} question
 * @param {(turnId: string) => boolean} isKnown
 * @param {AbortSignal} signal
 * @returns {Promise<Turn | null>}
 */
async function arrived(web, chatId, question, isKnown, signal) {
  const chat = await web.chat(chatId, signal).catch((error) => {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  });
  const stored = chat?.turns.find((one) => one.question === question && !isKnown(one.turn_id));
  return stored ? restored(stored) : null;
}

/** @param {number} ms */
function pause(ms) {
  return /** @type {Promise<void>} */ (new Promise((resolve) => setTimeout(resolve, ms)));
}
