// Where the time of an answer went: from the end of what was said, or the question typed, to the first sound of the answer.

/** @import { MomentName } from "./voice" */

/** @typedef {Partial<Record<MomentName | "found", number>>} Moments milliseconds since 1970 */
/** @typedef {{ name: string, from: number, ms: number }} Step `from` in milliseconds behind the start */
/** @typedef {{ steps: Step[], total: number, spoken: boolean }} Timeline */

/** @type {[ends: keyof Moments, name: string][]} */
const STEPS = [
  ["transcript", "Understanding"],
  ["question", "Asking"],
  ["found", "Searching"],
  ["first_delta", "First words"],
  ["first_phrase", "First phrase"],
  ["first_audio", "First sound"],
];

/** What only a spoken question goes through. */
const BEFORE = new Set(["transcript", "question"]);

/**
 * The steps that are known, each from where the one before ended. What was prepared before its turn takes no time.
 * @param {Moments} moments
 * @returns {Timeline | null} null until the first sound was heard
 */
export function timelineOf(moments) {
  const start = moments.speech_stopped ?? moments.question;
  const end = moments.first_audio;
  if (start === undefined || end === undefined || end < start) return null;
  /** @type {Step[]} */
  const steps = [];
  let reached = start;
  for (const [moment, name] of STEPS) {
    const at = moments[moment];
    if (at === undefined || at < start || at > end || (BEFORE.has(moment) && moments.speech_stopped === undefined)) continue;
    steps.push({ name, from: reached - start, ms: Math.max(0, at - reached) });
    reached = Math.max(reached, at);
  }
  return { steps, total: end - start, spoken: moments.speech_stopped !== undefined };
}
