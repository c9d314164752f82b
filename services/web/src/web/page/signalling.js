// Where a session is reached, and the exchange that opens one over WebRTC: at our own origin, or at the provider's where
// the credential is the provider's.

import { NotReached } from "./webrtc.js";

/** @import { ClientSecret } from "./wire" */

const PROVIDER = "https://api.openai.com/v1/realtime";
/** Answers that say that there is no WebRTC here, and not that it went wrong. */
const NO_WEBRTC = new Set([404, 405, 501]);

/**
 * @param {ClientSecret} secret
 * @returns {string}
 */
export function callsUrl(secret) {
  return secret.voice === "openai" ? `${PROVIDER}/calls` : "/v1/realtime/calls";
}

/**
 * @param {ClientSecret} secret
 * @returns {string}
 */
export function socketUrl(secret) {
  const model = secret.session["model"];
  const at =
    secret.voice === "openai"
      ? new URL(`${PROVIDER}?model=${encodeURIComponent(String(model))}`)
      : new URL("/v1/realtime", location.href);
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
