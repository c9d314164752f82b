// What the page asks of web, over HTTP. A refusal is an error with web's own sentence.

/** @import { LiveOffer } from "./live" */
/** @import { Moment } from "./voice" */
/** @import { Chat, ClientSecret, Corpus, DeadLetter, Refusal, RefreshReport, SourceText } from "./wire" */

/** web answered, and said no. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {Refusal} refusal
   * @param {number | null} retryAfter seconds
   */
  constructor(status, refusal, retryAfter = null) {
    super(refusal.message);
    this.status = status;
    this.code = refusal.code;
    this.retryAfter = retryAfter;
  }
}

/** Nothing answered. */
export class Unreached extends Error {}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Response>}
 */
async function request(path, init = {}) {
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Unreached("Talkdown does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const refusal = await response.json().catch(() => null);
  const after = Number(response.headers.get("retry-after"));
  throw new Refused(
    response.status,
    refusal?.message ? refusal : { code: "internal", message: `Talkdown answered with an error (${response.status}).` },
    after || null,
  );
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @param {Record<string, string>} [headers]
 */
function post(path, body, signal, headers = {}) {
  return request(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** @param {number} bytes */
function hex(bytes) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A new trace begins in the page: https://www.w3.org/TR/trace-context/#traceparent-header */
export function traceparent() {
  return `00-${hex(16)}-${hex(8)}-01`;
}

/**
 * A random UUID, also where the page is not in a secure context and `crypto.randomUUID` is missing.
 * @returns {string}
 */
export function uuid() {
  const digits = hex(16);
  const variant = "89ab"[Number.parseInt(/** @type {string} */ (digits[16]), 16) % 4];
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20),
  ].join("-");
}

export const web = {
  /**
   * Ask; the body of the answer is a stream of frames.
   * @param {string} chatId
   * @param {string} question
   * @param {AbortSignal} signal
   */
  ask: (chatId, question, signal) =>
    post("/api/turns", { chat_id: chatId, question }, signal, { traceparent: traceparent() }),

  /**
   * The frames behind a cursor.
   * @param {string} turnId
   * @param {string | null} cursor
   * @param {AbortSignal} signal
   */
  frames: (turnId, cursor, signal) =>
    request(`/api/turns/${turnId}/frames${cursor ? `?after=${encodeURIComponent(cursor)}` : ""}`, { signal }),

  /**
   * Stop a turn. It outlives the page that sends it.
   * @param {string} turnId
   */
  cancel: (turnId) =>
    request(`/api/turns/${turnId}/cancel`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ reason: "stopped" }),
      keepalive: true,
    }),

  /**
   * Speech ended a turn: what was heard of its answer is kept.
   * @param {string} turnId
   * @param {number} heard code points of the answer
   */
  interrupt: (turnId, heard) => post(`/api/turns/${turnId}/cancel`, { reason: "interrupted", heard }),

  /**
   * How much of an answer was heard.
   * @param {string} turnId
   * @param {number} characters code points of the answer
   */
  heard: (turnId, characters) => post(`/api/turns/${turnId}/heard`, { characters }),

  /**
   * What happened in a call, for the traces of its turns. It outlives the page that sends it.
   * @param {string} callId
   * @param {Moment[]} moments
   */
  timeline: (callId, moments) =>
    request(`/api/calls/${encodeURIComponent(callId)}/timeline`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        events: moments.map(({ name, at, turnId }) => ({ name, at: new Date(at).toISOString(), turn_id: turnId })),
      }),
      keepalive: true,
    }),

  /**
   * @param {string} chatId
   * @param {AbortSignal} [signal]
   * @returns {Promise<Chat>}
   */
  chat: async (chatId, signal) => (await request(`/api/chats/${chatId}`, signal ? { signal } : {})).json(),

  /** @returns {Promise<Corpus>} */
  corpus: async () => (await request("/api/corpus", { cache: "no-store" })).json(),

  /** @returns {Promise<RefreshReport>} */
  refresh: async () => (await post("/api/corpus/refresh", {})).json(),

  /**
   * @param {string} path
   * @param {string} [version]
   * @returns {Promise<SourceText>}
   */
  document: async (path, version) => {
    const name = path.split("/").map(encodeURIComponent).join("/");
    return (await request(`/api/documents/${name}${version ? `?version=${version}` : ""}`)).json();
  },

  /** @returns {Promise<DeadLetter[]>} */
  deadLetters: async () => (await (await request("/api/dead-letters")).json()).dead_letters,

  /** @param {string} id */
  replay: (id) => post(`/api/dead-letters/${encodeURIComponent(id)}/replay`, {}),

  /**
   * A credential for one voice connection; `bridge`: to a session that the server holds.
   * @param {string} chatId
   * @param {AbortSignal} signal
   * @param {boolean} [bridge]
   * @returns {Promise<ClientSecret>}
   */
  credential: async (chatId, signal, bridge = false) => {
    const asked = { chat_id: chatId, ...(bridge && { bridge }) };
    return (await post("/v1/realtime/client_secrets", asked, signal, { traceparent: traceparent() })).json();
  },

  /** @returns {Promise<string[]>} */
  facts: async () => {
    const card = await (await request("/api/people/owner/profile", { cache: "no-store" })).json();
    return card.facts.map((/** @type {{ text: string }} */ fact) => fact.text);
  },

  /** Forget what the person said of themselves, and what was said with them. */
  forget: () =>
    Promise.all(["profile", "memories"].map((what) => request(`/api/people/owner/${what}`, { method: "DELETE" }))),

  /** @returns {Promise<LiveOffer>} */
  liveOffer: async () => (await request("/v1/graph/live", { cache: "no-store" })).json(),
};
