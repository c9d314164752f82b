// The Realtime events that the page understands; the types are those of the provider's own package.

/** @import { RealtimeServerEvent } from "openai/resources/realtime/realtime" */

/**
 * What a browser offers instead of an Authorization header, which a WebSocket there cannot carry.
 * https://platform.openai.com/docs/guides/realtime-websocket
 * @param {string} credential
 * @returns {string[]}
 */
export function subprotocols(credential) {
  return ["realtime", `openai-insecure-api-key.${credential}`];
}

/**
 * A message of the session as an event; one that is none is nothing, and the session goes on.
 * @param {unknown} data
 * @returns {RealtimeServerEvent | null}
 */
export function eventOf(data) {
  if (typeof data !== "string") return null;
  try {
    const event = JSON.parse(data);
    return typeof event?.type === "string" ? event : null;
  } catch {
    return null;
  }
}

/**
 * Whether a session that closed with this code may be opened again by itself. Over the limit (1013) and refused (1008)
 * would only be refused again.
 * @param {number} code
 * @returns {boolean}
 */
export function mayReturn(code) {
  return code !== 1000 && code !== 1008 && code !== 1013;
}
