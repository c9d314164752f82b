// What the page and a call say to each other, and what a call needs of a transport.

import type { RealtimeClientEvent, RealtimeServerEvent } from "openai/resources/realtime/realtime";
import type { Turn } from "./frames.js";
import type { Problem } from "./microphone.js";
import type { ClientSecret } from "./wire";

export type TransportKind = "webrtc" | "websocket" | "server";

/** A part of an answer: code points, half-open. */
export type Span = readonly [start: number, end: number];

/** Time, so that tests need not wait for it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Do it once, later; the answer takes that back. */
  after(ms: number, what: () => void): () => void;
}

/** What the call is doing while it stands. */
export type Doing =
  /** The voice is silent here: questions are typed. */
  | { kind: "silent" }
  | { kind: "listening" }
  /** The person speaks; the words so far may still be corrected. */
  | { kind: "hearing"; words: string }
  /** An utterance is understood, or an answer is on its way, and nothing is heard of it yet. */
  /** `ready`: there is something to be spoken, and its sound is being made. */
  | { kind: "thinking"; ready?: true }
  /** `text` is what is being said, `span` its place in the answer of `turnId`, `heard` how far playback came in it. */
  | { kind: "speaking"; turnId: string | null; text: string; span: Span; heard: number };

export type Connection =
  | { kind: "off" }
  | { kind: "starting"; step: "microphone" | "connection" }
  | {
      kind: "on";
      voice: ClientSecret["voice"];
      transport: TransportKind;
      /** One sentence about the connection that the person should know, such as the fallback to the WebSocket. */
      note: string | null;
      doing: Doing;
      /** Something that went wrong and did not end the call: a phrase not spoken, playback that waits for a click. */
      problem: Problem | null;
    }
  | { kind: "returning"; attempt: number }
  | { kind: "failed"; problem: Problem };

/** From 0 (silence) to 1, as loud as it is heard; read it at every frame that is drawn. */
export interface Levels {
  agent: number;
  microphone: number;
}

/** Something that happened in the call, for its timeline. */
export type MomentName =
  | "speech_started" | "speech_stopped" | "transcript" | "question" | "first_delta" | "first_phrase" | "first_audio"
  | "interrupted" | "resumed" | "spoken";

export interface Moment {
  name: MomentName;
  /** Milliseconds since 1970. */
  at: number;
  turnId: string | null;
}

/** What an utterance said. Only a question is asked; the others are shown. */
export interface Said {
  itemId: string;
  text: string;
  question: boolean;
}

/** The answer to one question, told to the call as it grows; what is no longer the newest is not spoken. */
export interface Speaker {
  changed(turn: Turn): void;
}

/** What a call needs of the page and of web. */
export interface CallNeeds {
  credential(chatId: string, signal: AbortSignal): Promise<ClientSecret>;
  browser: { isSecureContext: boolean; mediaDevices?: MediaDevices | undefined };
  connect(url: string, protocols: string[]): WebSocket;
  changed(connection: Connection): void;
  /** The microphone that the person chose; without it, the browser's default one. */
  microphone?(): Promise<MediaStream>;
  /** Ask this question, which was said aloud; the page then calls `speak` for its turn. */
  ask?(question: string): void;
  /** An utterance was transcribed, whether it is asked or not. */
  said?(said: Said): void;
  /** The person spoke: stop the turn, and say how much of its answer was heard. */
  interrupt?(turnId: string, heard: number): void;
  heard?(turnId: string, characters: number): void;
  moment?(moment: Moment, callId: string): void;
  /** Tell the gateway what happened in a call. */
  timeline?(callId: string, moments: Moment[]): void;
}

/** What the page may ask of a call, whatever state it is in; `Call` in call.js. */
export interface CallControls {
  readonly chatId: string;
  start(): Promise<void>;
  /** End everything for good; whatever comes later is ignored. */
  stop(): void;
  /** Speak the answer to a question that is asked now; the one before falls silent. */
  speak(): Speaker;
  levels(): Levels;
  /** Push to talk (true) or the open microphone (false), at any time. */
  pushToTalk(on: boolean): void;
  /** Push to talk: hold, let go, or think better of it. */
  press(): void;
  release(): void;
  retract(): void;
  /** Let nothing of the microphone in until it is taken back; whatever else changes, reconnecting too. */
  mute(on: boolean): void;
  /** Take up the microphone that `needs.microphone` gives now. */
  changeMicrophone(): Promise<void>;
  changeSpeaker(deviceId: string): Promise<void>;
  /** From within a click, where the browser kept the sound back. */
  unblock(): Promise<void>;
  /** Be silent at once, as if the person had spoken, and stop the turn. */
  hush(): void;
}

/** What a transport tells of. */
export interface TransportListener {
  event(event: RealtimeServerEvent): void;
  /** The connection is gone; `mayReturn` says whether another may be opened by itself. */
  lost(why: string, mayReturn: boolean): void;
  /** The browser keeps the sound back until the person does something on the page. */
  blocked(): void;
}

/** A session's wire, with its sound in both directions. */
export interface Transport {
  readonly kind: TransportKind;
  send(event: RealtimeClientEvent): void;
  /** Let nothing be heard from now on, or let it be heard again. */
  hold(held: boolean): void;
  /** Forget what was to be played. */
  clear(): void;
  /** Milliseconds of the named response that were really played; null where that is not known. */
  played(responseId: string): number | null;
  /** Milliseconds of sound of the named response that have come; null where that is not known. */
  received(responseId: string): number | null;
  /** Whether the microphone is let in. */
  listen(open: boolean): void;
  useMicrophone(stream: MediaStream): Promise<void>;
  useSpeaker(deviceId: string): Promise<void>;
  /** Start the sound from within a click, where it was blocked. */
  unblock(): Promise<void>;
  levels(): Levels;
  close(): void;
}
