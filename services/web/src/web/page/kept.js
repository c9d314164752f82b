// What the page keeps: the chat for a reload of the tab, the person's choices for the next time. A browser that keeps
// nothing for pages loses that alone.

/** @typedef {() => Storage} Place asking for it may already be refused */

/** For this tab. @type {Place} */
export const TAB = () => sessionStorage;
/** For this browser. @type {Place} */
export const BROWSER = () => localStorage;

/**
 * @param {Place} place
 * @param {string} name
 * @returns {string | null}
 */
export function kept(place, name) {
  try {
    return place().getItem(`talkdown.${name}`);
  } catch {
    return null;
  }
}

/**
 * @param {Place} place
 * @param {string} name
 * @param {string | null} value null forgets it
 */
export function keep(place, name, value) {
  try {
    if (value === null) place().removeItem(`talkdown.${name}`);
    else place().setItem(`talkdown.${name}`, value);
  } catch {
    // Storage is switched off, or full.
  }
}
