// The events of the Realtime protocol: the page's are built here, and the session's are read; the types of both are those
// of the provider's own package.

/** @import { AudioTranscription, InputAudioBufferAppendEvent, InputAudioBufferClearEvent, InputAudioBufferCommitEvent, OutputAudioBufferClearEvent, RealtimeServerEvent, ResponseCancelEvent, ResponseCreateEvent, SessionUpdateEvent } from "openai/resources/realtime/realtime" */

const SERVER_VAD = /** @type {const} */ ({ type: "server_vad", create_response: false, interrupt_response: false });
const VERBATIM =
  "Read the text in the input aloud exactly as it stands, word for word. Add nothing, leave nothing out, answer nothing.";

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

/** A process that stops: whatever ended with it may go on in the next one. */
const STOPPING = new Set([1001, 1012]);

/**
 * Whether a session that said what ended it is opened again by itself: what failed in it would fail again.
 * @param {number} code of the close
 * @param {boolean} told whether an error that it does not go on after was told
 */
export function mayReopen(code, told) {
  return mayReturn(code) && (!told || STOPPING.has(code));
}

/**
 * How the session listens: it finds the ends of utterances itself, or is told of them (push to talk). It never answers
 * by itself: the page asks the question (V3).
 * @param {{ byHand: boolean, transcription: AudioTranscription | null }} how `transcription` as the session was opened with,
 *   so that a provider that takes our settings for all there are goes on transcribing
 * @returns {SessionUpdateEvent}
 */
export function listening({ byHand, transcription }) {
  return {
    type: "session.update",
    session: {
      type: "realtime",
      output_modalities: ["audio"],
      audio: {
        input: {
          turn_detection: byHand ? null : { ...SERVER_VAD },
          ...(transcription !== null && { transcription }),
        },
      },
    },
  };
}

/**
 * Sound for the session: PCM, 16 bits, mono, 24 kHz, in base64.
 * @param {string} audio
 * @returns {InputAudioBufferAppendEvent}
 */
export function sound(audio) {
  return { type: "input_audio_buffer.append", audio };
}

/** @returns {InputAudioBufferCommitEvent} */
export function commit() {
  return { type: "input_audio_buffer.commit" };
}

/** @returns {InputAudioBufferClearEvent} */
export function forget() {
  return { type: "input_audio_buffer.clear" };
}

/**
 * Speak a text as it stands, outside of the conversation, in the trace of its turn.
 * @param {{ phraseId: string, turnId: string | null, traceId: string | null, text: string }} phrase
 * @returns {ResponseCreateEvent}
 */
export function speech({ phraseId, turnId, traceId, text }) {
  return {
    type: "response.create",
    event_id: `speech:${phraseId}`,
    response: {
      conversation: "none",
      output_modalities: ["audio"],
      tools: [],
      instructions: VERBATIM,
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text }] }],
      metadata: {
        phrase_id: phraseId,
        ...(turnId !== null && { turn_id: turnId }),
        // A span needs a parent's id, and any will do: the trace is what counts.
        ...(traceId !== null && { traceparent: `00-${traceId}-${traceId.slice(16)}-01` }),
      },
    },
  };
}

/**
 * @param {string} responseId
 * @returns {ResponseCancelEvent}
 */
export function cancel(responseId) {
  return { type: "response.cancel", event_id: `cancel:${responseId}`, response_id: responseId };
}

/** @returns {OutputAudioBufferClearEvent} */
export function silence() {
  return { type: "output_audio_buffer.clear" };
}

/**
 * The phrase that a response speaks; null for a response that is none of ours.
 * @param {{ metadata?: Record<string, unknown> | null | undefined }} response
 * @returns {string | null}
 */
export function phraseOf(response) {
  const id = response.metadata?.["phrase_id"];
  return typeof id === "string" ? id : null;
}
