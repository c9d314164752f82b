// A citation in an answer is [n], n the 1-based place in its sources.

const CITATION = /\[(\d{1,3})\]/g;
const UNFINISHED = /\s*\[\d{0,3}$/;

/** @typedef {{ kind: "text", text: string } | { kind: "citation", text: string, place: number }} Piece */

/**
 * A text cut into what is read and what is followed. A number that is no place in the sources stays text.
 * @param {string} text
 * @param {number} sources how many there are
 * @returns {Piece[]}
 */
export function pieces(text, sources) {
  /** @type {Piece[]} */
  const found = [];
  let from = 0;
  for (const match of text.matchAll(CITATION)) {
    const place = Number(match[1]);
    if (place < 1 || place > sources) continue;
    if (match.index > from) found.push({ kind: "text", text: text.slice(from, match.index) });
    found.push({ kind: "citation", text: match[0], place });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ kind: "text", text: text.slice(from) });
  return found;
}

/**
 * The places that a text cites, each once, in their order.
 * @param {string} text
 * @param {number} sources how many there are
 * @returns {number[]}
 */
export function placesOf(text, sources) {
  const places = pieces(text, sources).flatMap((piece) => (piece.kind === "citation" ? [piece.place] : []));
  return [...new Set(places)].sort((a, b) => a - b);
}

/**
 * What may be shown of a text that still grows: a citation that is cut in two waits for its other half.
 * @param {string} text
 * @returns {string}
 */
export function settled(text) {
  return text.replace(UNFINISHED, "");
}

/**
 * The text as it is read aloud: without citations, and without the space before them.
 * @param {string} text
 * @returns {string}
 */
export function spoken(text) {
  return text.replace(/\s*\[\d{1,3}\]/g, "");
}
