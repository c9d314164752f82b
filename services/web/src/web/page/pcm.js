// PCM as it travels in events: 16 bits, little-endian, mono, 24 kHz, in base64.

/**
 * @param {ArrayBuffer} pcm
 * @returns {string}
 */
export function toBase64(pcm) {
  let bytes = "";
  for (const byte of new Uint8Array(pcm)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

/**
 * Half a sample at the end is left out.
 * @param {string} base64
 * @returns {Int16Array}
 */
export function fromBase64(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
