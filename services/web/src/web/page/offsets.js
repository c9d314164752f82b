// Offsets on the wire count Unicode code points; strings in the browser count UTF-16 code units.

/**
 * The UTF-16 offset of a code point offset; past the end it is the end.
 * @param {string} text
 * @param {number} codePoints
 * @param {number} [from] a UTF-16 offset to count from
 * @returns {number}
 */
export function toUtf16(text, codePoints, from = 0) {
  let at = from;
  for (let left = codePoints; left > 0 && at < text.length; left -= 1) {
    at += /** @type {number} */ (text.codePointAt(at)) > 0xffff ? 2 : 1;
  }
  return at;
}

/**
 * The code point offset of a UTF-16 offset; one inside a pair counts the pair.
 * @param {string} text
 * @param {number} utf16
 * @returns {number}
 */
export function toCodePoints(text, utf16) {
  let count = 0;
  for (let at = 0; at < utf16 && at < text.length; count += 1) {
    at += /** @type {number} */ (text.codePointAt(at)) > 0xffff ? 2 : 1;
  }
  return count;
}

/**
 * How many code points a text has.
 * @param {string} text
 * @returns {number}
 */
export function lengthOf(text) {
  return toCodePoints(text, text.length);
}
