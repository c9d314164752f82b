// The marks of Markdown within a line, and what is a mark and what is text.

const CITATION = "\\[(?:\\d{1,3}(?:,\\s*\\d{1,3})*|\\^[^\\[\\]\\s]+)\\](?!\\()";
const LINK = "!?\\[(?<text>[^\\[\\]\\n]*)\\](?:\\((?:[^()\\n]|\\([^()\\n]*\\))*\\)|\\[[^\\[\\]\\n]*\\])";
const WIKILINK = "!?\\[\\[(?<name>[^\\[\\]\\n|]*)(?:\\|(?<text>[^\\[\\]\\n]*))?\\]\\]";
const ANGLE = "<(?:br\\s*/?|!--[^]*?--|(?<address>https?://[^<>\\s]+|[^<>\\s@]+@[^<>\\s@]+))>";
export const AT_CITATION = new RegExp(`^${CITATION}`);
export const AT_LINK = new RegExp(`^${LINK}`, "d");
export const AT_WIKILINK = new RegExp(`^${WIKILINK}`, "d");
export const AT_ANGLE = new RegExp(`^${ANGLE}`, "d");
export const INNER_MARKS = /[*`]+|~~|(?<![\p{L}\p{N}_])_+(?=[\p{L}\p{N}_])|(?<=[\p{L}\p{N}_])_+(?![\p{L}\p{N}_])/gu;
const SPACE = /^\s$/;

/**
 * Whether a bracket that opens `line`, which is not over, may still become something else than it is now.
 * @param {string} line
 */
export function mayGoOn(line) {
  const inner = line.startsWith("!") ? line.slice(1) : line;
  if (inner.startsWith("[[")) return !inner.includes("]]");
  const closed = inner.indexOf("]");
  if (closed < 0 || closed + 1 === inner.length) return true;
  const following = inner.charAt(closed + 1);
  return (
    (following === "(" && !AT_LINK.test(line)) ||
    (following === "[" && !inner.includes("]", closed + 2) && !AT_CITATION.test(inner))
  );
}

/**
 * Whether a run of asterisks, underscores or tildes is emphasis, told from what stands on both sides of it.
 * @param {string} mark
 * @param {number} length
 * @param {string} before
 * @param {string} after
 */
export function isMark(mark, length, before, after) {
  const spaced = (before === "" || SPACE.test(before)) && (after === "" || SPACE.test(after));
  if (mark === "*") return !spaced && !(/\p{Nd}/u.test(before) && /\p{Nd}/u.test(after));
  if (mark === "_") return !spaced && !(inWord(before) && inWord(after));
  return length >= 2 && !spaced;
}

/** @param {string} character */
function inWord(character) {
  return /^[\p{L}\p{N}_]$/u.test(character);
}

/**
 * The cells of a table's row, as they are read.
 * @param {string} row
 * @returns {string[]}
 */
export function cells(row) {
  let inner = row.trim();
  if (inner.startsWith("|")) inner = inner.slice(1);
  if (inner.endsWith("|") && !inner.endsWith("\\|")) inner = inner.slice(0, -1);
  return inner.split(/(?<!\\)\|/).map(flat);
}

/** @param {string} cell */
function flat(cell) {
  return cell
    .replace(new RegExp(CITATION, "g"), "")
    .replace(new RegExp(WIKILINK, "g"), (_, name, text) => text || name)
    .replace(new RegExp(LINK, "g"), (_, text) => text)
    .replace(new RegExp(ANGLE, "g"), (_, address) => address ?? " ")
    .replaceAll("\\|", "|")
    .replace(INNER_MARKS, "")
    .split(/\s+/)
    .filter(Boolean)
    .join(" ");
}
