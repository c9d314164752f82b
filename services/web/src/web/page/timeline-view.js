// The timeline of an answer, as a row of bars with their milliseconds.

import { h } from "./dom.js";
import { timelineOf } from "./timeline.js";
import { lasting } from "./words.js";

/** @import { Moments } from "./timeline.js" */

/**
 * @param {Moments} moments
 * @returns {HTMLElement | null} null as long as the first sound was not heard
 */
export function timelineView(moments) {
  const timeline = timelineOf(moments);
  if (timeline === null) return null;
  const { steps, total, spoken } = timeline;
  return h(
    "details",
    {
      class: "passages timeline",
      ontoggle: ({ currentTarget }) => currentTarget.open && currentTarget.scrollIntoView({ block: "nearest" }),
    },
    h("summary", {}, `First sound ${lasting(total)} after you ${spoken ? "stopped speaking" : "asked"}`),
    h(
      "ol",
      {},
      ...steps.map(({ name, from, ms }) => {
        const bar = h("span", { class: "step-bar", "aria-hidden": "true" });
        bar.style.setProperty("--from", String(from / Math.max(1, total)));
        bar.style.setProperty("--share", String(ms / Math.max(1, total)));
        return h("li", { class: "step" }, h("span", {}, name), bar, h("span", { class: "step-ms" }, lasting(ms)));
      }),
    ),
  );
}
