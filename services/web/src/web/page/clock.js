// The time as it is; tests bring their own.

/** @import { Clock } from "./voice" */

/** @type {Clock} */
export const CLOCK = {
  now: () => Date.now(),
  after: (ms, what) => {
    const timer = setTimeout(what, ms);
    return () => clearTimeout(timer);
  },
};
