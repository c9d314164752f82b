// What the person said: one committed utterance gives one question, and what is shown is what is asked (V3).

import { lengthOf } from "./offsets.js";

/** @import { RealtimeServerEvent } from "openai/resources/realtime/realtime" */

export const LONGEST_QUESTION = 2000;
/** Sounds of listening: while an answer is spoken they ask for nothing (V10). */
const LISTENING = /^(?:m+h*m*|u+h+(?:u+h+)?|u+m+|e+r+m*|h+m+|a+h+|o+h+|ok|okay|yeah|yep|yes|right|sure|cool|good|great|nice|alright)$/;
const SAID_IN_TWO = /\b(?:i see|got it|all right|uh huh|mm hmm?)\b/g;

/** What a whole utterance may be that wants the answer to end, and no other one. */
const SILENCE = new Set(
  ("stop|stop it|stop please|please stop|stop that|stop talking|stop speaking|stop reading|hold on|hold on stop|wait|wait stop|" +
    "wait a moment|wait a minute|one moment|just a moment|hang on|enough|that is enough|that's enough|that will do|" +
    "that'll do|be quiet|quiet|quiet please|silence|shut up|never mind|nevermind|forget it|cancel|pause|" +
    "thanks|thank you|thank you very much|thanks a lot|many thanks|no thanks|no thank you|okay thanks|ok thanks|" +
    "okay thank you|okay stop|ok stop|stop thanks|stop thank you|stop that is enough|stop that's enough|bye|goodbye|" +
    "stopp|halt|warte|moment|genug|danke|danke schön|vielen dank|sei still|ruhe").split("|"),
);

/**
 * @typedef {{ kind: "question", itemId: string, text: string }
 *   | { kind: "late", itemId: string, text: string }
 *   | { kind: "long", itemId: string, text: string }
 *   | { kind: "blank", itemId: string }
 *   | { kind: "failed", itemId: string }
 *   | { kind: "words", text: string }} Heard
 *
 * `late` is the transcript of an utterance that a newer one has overtaken: shown, and not asked.
 */

/** The utterances of one connection. */
export class Utterances {
  /**
   * The one that was committed last: a newer one that only began may still prove to be none.
   * @type {string | null}
   */
  #latest = null;
  /** @type {string | null} */
  #begun = null;
  /** @type {Map<string, string>} */
  #words = new Map();
  /** @type {Set<string>} */
  #settled = new Set();

  /**
   * @param {RealtimeServerEvent} event
   * @returns {Heard | null} null for what says nothing new
   */
  handle(event) {
    switch (event.type) {
      case "input_audio_buffer.speech_started":
        this.#begun = event.item_id;
        return null;
      case "input_audio_buffer.committed":
        this.#latest = this.#begun = event.item_id;
        return null;
      case "conversation.item.input_audio_transcription.delta": {
        const words = (this.#words.get(event.item_id) ?? "") + (event.delta ?? "");
        this.#words.set(event.item_id, words);
        return event.item_id === this.#begun ? { kind: "words", text: words.trim() } : null;
      }
      case "conversation.item.input_audio_transcription.completed":
        return this.#completed(event.item_id, event.transcript.trim());
      case "conversation.item.input_audio_transcription.failed":
        this.#words.delete(event.item_id);
        return event.item_id === this.#latest ? { kind: "failed", itemId: event.item_id } : null;
      default:
        return null;
    }
  }

  /**
   * @param {string} itemId
   * @param {string} text
   * @returns {Heard | null}
   */
  #completed(itemId, text) {
    this.#words.delete(itemId);
    if (this.#settled.has(itemId)) return null;
    this.#settled.add(itemId);
    if (itemId !== this.#latest) return text === "" ? null : { kind: "late", itemId, text };
    if (text === "") return { kind: "blank", itemId };
    return { kind: lengthOf(text) > LONGEST_QUESTION ? "long" : "question", itemId, text };
  }
}

/**
 * Whether a transcript only signals listening.
 * @param {string} text
 * @returns {boolean}
 */
export function isBackchannel(text) {
  const plain = text.toLowerCase().replace(/[^\p{L}]+/gu, " ").trim();
  if (plain === "" || plain.length > 40) return false;
  const rest = plain.replace(SAID_IN_TWO, " ").trim();
  return rest === "" || rest.split(/\s+/).every((word) => LISTENING.test(word));
}

/**
 * Whether a transcript asks for silence and for nothing else.
 * @param {string} text
 * @returns {boolean}
 */
export function asksForSilence(text) {
  return SILENCE.has(text.toLowerCase().replace(/’/g, "'").replace(/[^\p{L}']+/gu, " ").trim());
}
