// Markdown as it is read aloud: its marks are not said, its words are. Numbers, units and the like stay as written; how
// they sound is the voice's business.

/** @type {[RegExp, string][]} */
const MARKS = [
  // Rows that only rule a table, and lines that only rule a page.
  [/^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*$/gm, ""],
  [/^[ \t]*(?:\*[ \t]*){3,}$|^[ \t]*(?:_[ \t]*){3,}$/gm, ""],
  [/^[ \t]*>[ \t]?/gm, ""],
  [/^[ \t]*#{1,6}[ \t]+/gm, ""],
  [/^[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?/gm, ""],
  [/!?\[\[[^\]|]*\|([^\]]*)\]\]/g, "$1"],
  [/!?\[\[([^\]]*)\]\]/g, "$1"],
  [/!?\[([^\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"]*")?\)/g, "$1"],
  [/<((?:https?|mailto):[^>\s]+)>/g, "$1"],
  [/<\/?[a-zA-Z][^<>]*>/g, " "],
];
const EMPHASIS = [/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/gs, /(~~)(?=\S)(.+?)(?<=\S)\1/gs];
/** Marks that a cut has parted from their partner. */
const PARTED = /\*\*|~~|(?<![\p{L}\p{N}])__|__(?![\p{L}\p{N}])/gu;
const LEANING = /(?<![\p{L}\p{N}*_])([*_])(?=\S)([^*_]+?)(?<=\S)\1(?![\p{L}\p{N}*_])/gu;

/**
 * @param {string} markdown
 * @returns {string}
 */
export function spoken(markdown) {
  // What stands in backticks is said as it stands.
  const parts = markdown.split(/(`+[^`]*`+)/);
  const plain = parts.map((part, at) => (at % 2 === 1 ? part.replaceAll("`", "") : withoutMarks(part, at === 0))).join("");
  return plain.replaceAll("`", "").replace(/\s+/g, " ").trim();
}

/**
 * @param {string} text
 * @param {boolean} first whether it begins a line
 */
function withoutMarks(text, first) {
  let plain = first ? text : `\u0000${text}`;
  for (const [mark, said] of MARKS) plain = plain.replace(mark, said);
  plain = plain.replace(/^[ \t]*\|(.*?)\|?[ \t]*$/gm, (_, row) => cells(row));
  for (const mark of EMPHASIS) plain = plain.replace(mark, "$2");
  return plain.replace(LEANING, "$2").replace(PARTED, "").replace("\u0000", "");
}

/** @param {string} row */
function cells(row) {
  return row
    .split("|")
    .map((/** @type {string} */ cell) => cell.trim())
    .filter(Boolean)
    .join(", ");
}
