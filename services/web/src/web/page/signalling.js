// Where a session is reached, and the exchange that opens one over WebRTC: at our own origin, or at the provider's where
// the credential is the provider's.

import { NotReached } from "./webrtc.js";

/** @import { ClientSecret } from "./wire" */

/** Answers that say that there is no WebRTC here, and not that it went wrong. */
const NO_WEBRTC = new Set([404, 405, 501]);

/**
 * @param {ClientSecret} secret
 * @returns {string}
 */
export function callsUrl(secret) {
  return secret.url === null ? "/v1/realtime/calls" : `${secret.url}/calls`;
}

/**
 * @param {ClientSecret} secret
 * @returns {string}
 */
export function socketUrl(secret) {
  const at = new URL(secret.url ?? "/v1/realtime", location.href);
  if (secret.url !== null) at.searchParams.set("model", String(secret.session["model"]));
  at.protocol = at.protocol === "https:" ? "wss:" : "ws:";
  return at.href;
}

/**
 * The answer to an SDP offer. https://platform.openai.com/docs/api-reference/realtime-calls
 * @param {string} url
 * @param {string} offer
 * @param {string} credential
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function answerTo(url, offer, credential, signal) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/sdp", authorization: `Bearer ${credential}` },
    body: offer,
    signal,
  }).catch((error) => {
    if (signal.aborted) throw error;
    throw new Error(`Nobody answers at ${new URL(url, location.href).host}.`);
  });
  if (response.ok) return response.text();
  if (NO_WEBRTC.has(response.status)) throw new NotReached("There is no WebRTC here.");
  const refusal = await response.json().catch(() => null);
  throw new Error(refusal?.message ?? refusal?.error?.message ?? `The session was refused (${response.status}).`);
}
