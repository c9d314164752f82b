// What is being said, lit in the answer where it stands. Nodes are left as they are: nothing moves, is focused or scrolls.

import { toUtf16 } from "./offsets.js";

/** @import { Span } from "./voice" */

const LIGHTS = globalThis.CSS !== undefined && "highlights" in CSS;

/**
 * Light a part of an answer, and in it what was heard already.
 * @param {HTMLElement} answer as it is shown
 * @param {string} text of the answer, citations and all
 * @param {Span} span code points
 * @param {number} heard code points of the answer
 */
export function light(answer, text, [start, end], heard) {
  if (!LIGHTS) return;
  const [from, to] = [toUtf16(text, start), toUtf16(text, end)];
  const upTo = Math.min(to, Math.max(from, toUtf16(text, heard)));
  const ranges = rangesOf(answer, [from, upTo, to]);
  if (ranges === null) return dark();
  const [first, middle, last] = /** @type {[Point, Point, Point]} */ (ranges);
  CSS.highlights.set("spoken", new Highlight(between(first, last)));
  CSS.highlights.set("heard", new Highlight(between(first, middle)));
}

/**
 * Let what was not heard of an answer stand back.
 * @param {HTMLElement} answer as it is shown
 * @param {string} text of the answer, citations and all
 * @param {number} heard code points
 */
export function standBack(answer, text, heard) {
  const ranges = LIGHTS ? rangesOf(answer, [toUtf16(text, heard), text.length]) : null;
  if (ranges === null) return;
  const [start, end] = /** @type {[Point, Point]} */ (ranges);
  const unheard = CSS.highlights.get("unheard") ?? new Highlight();
  for (const range of unheard) if (answer.contains(range.startContainer)) unheard.delete(range);
  unheard.add(between(start, end));
  CSS.highlights.set("unheard", unheard);
}

/** The answers are gone, and nothing of them is lit. */
export function allDark() {
  if (LIGHTS) CSS.highlights.clear();
}

/** Light nothing. */
export function dark() {
  if (!LIGHTS) return;
  CSS.highlights.delete("spoken");
  CSS.highlights.delete("heard");
}

/** @typedef {[node: Node, offset: number]} Point */

/**
 * The places of UTF-16 offsets of the answer's text, which must increase. A citation is a link that stands for "[n]".
 * @param {HTMLElement} answer
 * @param {number[]} offsets
 * @returns {Point[] | null} null where the answer is not shown that far
 */
function rangesOf(answer, offsets) {
  /** @type {Point[]} */
  const points = [];
  let at = 0;
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && points.length < offsets.length; node = walker.nextNode()) {
    const within = node.parentElement;
    if (within?.closest(".doubt")) continue;
    const length = node.textContent?.length ?? 0;
    const cited = within?.closest(".cite") != null;
    const long = cited ? length + 2 : length;
    for (let next = offsets[points.length]; next !== undefined && next <= at + long; next = offsets[points.length]) {
      points.push([node, Math.min(length, Math.max(0, cited ? (next > at ? length : 0) : next - at))]);
    }
    at += long;
  }
  return points.length === offsets.length ? points : null;
}

/**
 * @param {Point} start
 * @param {Point} end
 */
function between(start, end) {
  return new StaticRange({ startContainer: start[0], startOffset: start[1], endContainer: end[0], endOffset: end[1] });
}
