// A turn that the server holds: followed by its frames where it has any, and else written as it is said.

import { ENDED, failed } from "./frames.js";

/** @import { Shown } from "./conversation.js" */
/** @import { Turn } from "./frames.js" */
/** @import { ToldTurn } from "./live" */

/**
 * @param {Shown} shown
 * @param {{ follow: (turn: Turn) => void, over: () => boolean }} needs `over`: the chat has ended
 * @returns {ToldTurn}
 */
export function toldTurn(shown, { follow, over }) {
  const { entry } = shown;
  const alone = () => !over() && entry.turn.turnId === null && !ENDED.has(entry.turn.stage);
  return {
    get text() {
      return entry.turn.text;
    },
    get turnId() {
      return entry.turn.turnId;
    },
    asked: (question) => {
      entry.turn = { ...entry.turn, question };
      entry.view.ask(question);
    },
    known: (turnId, traceId) => {
      if (!alone()) return;
      entry.turn = { ...entry.turn, turnId, traceId, stage: "waiting", text: "" };
      follow(entry.turn);
    },
    traced: (traceId) => {
      if (alone()) entry.turn = { ...entry.turn, traceId };
    },
    said: (text) => {
      if (alone()) shown.changed({ ...entry.turn, stage: "answering", text: entry.turn.text + text });
    },
    ended: (how, message = "The answer failed. Ask again.") => {
      if (!alone()) return;
      if (how === "done") shown.changed({ ...entry.turn, stage: "done" });
      else if (how === "failed") shown.changed(failed(entry.turn, "failed", message));
      else shown.changed(failed(entry.turn, "interrupted", "The answer was interrupted here."));
    },
  };
}
