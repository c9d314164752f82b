// A session that the server holds: its events, its wire, and what the page makes of its turns.

import type { Levels, TransportKind } from "./voice";
import type { LeavesInCalls } from "./wire";

export interface Ready {
  type: "ready";
  input_rate: number;
  output_rate: number;
  session_id: string;
  orchestrator: string;
  provider: string;
  scenario: string | null;
  agent: string | null;
  /** What of the session leaves the machine, and to whom. */
  leaves?: { what: "voice" | "questions"; to: string } | null;
}

export type LiveEvent =
  | Ready
  | { type: "speech_started" | "speech_stopped" | "speech_dismissed" | "interrupted" }
  | { type: "input_transcript" | "output_transcript"; text: string; finished: boolean }
  | { type: "response_started"; response_id: string }
  | { type: "response_ended"; response_id: string; status: string }
  | { type: "tool_call"; id: string; name: string }
  | { type: "tool_result"; id: string; name: string }
  | { type: "turn_started"; turn: number; turn_id: string | null; trace_id: string | null }
  | { type: "turn_complete"; turn: number }
  | { type: "agent_changed"; agent: string; previous: string | null; reason: string }
  | { type: "reconnecting"; attempt: number; wait_s: number; reason: string }
  | { type: "reconnected"; resumed: boolean }
  | { type: "usage" | "session_update" | "go_away" }
  | { type: "error"; code: string; message: string; fatal: boolean };

export interface LiveListener {
  event(event: LiveEvent): void;
  /** The first sound of a response comes out. */
  began(responseId: string): void;
  /** So many milliseconds of a response came out. */
  played(responseId: string, ms: number): void;
  /** All sound that came was played. */
  idle(): void;
  /** The connection is gone; `mayReturn` says whether another may be opened by itself. */
  lost(why: string, mayReturn: boolean): void;
  /** The browser keeps the sound back until the person does something on the page. */
  blocked(): void;
}

/** The wire of a session, with its sound in both directions. */
export interface Live {
  readonly kind: TransportKind;
  readonly ready: Ready;
  send(message: Record<string, unknown>): void;
  /** Let nothing be heard from now on, or let it be heard again. */
  hold(held: boolean): void;
  /** Forget what was to be heard, and all that still comes of the response that speaks. */
  silence(): void;
  listen(open: boolean): void;
  useMicrophone(stream: MediaStream): Promise<void>;
  useSpeaker(deviceId: string): Promise<void>;
  unblock(): Promise<void>;
  levels(): Levels;
  close(): void;
}

/** A turn that the server holds, as the conversation shows it. */
export interface ToldTurn {
  /** What was asked, where it becomes known later. */
  asked(question: string): void;
  /** The chat's name of the turn: its frames are followed from now on. */
  known(turnId: string, traceId: string | null): void;
  /** Where it has no frames: the trace that it is in. */
  traced(traceId: string): void;
  /** More of its answer, where it has no frames. */
  said(text: string): void;
  /** Where it has no frames: it is over. */
  ended(how: "done" | "interrupted" | "failed", message?: string): void;
  /** Its answer so far. */
  readonly text: string;
  readonly turnId: string | null;
}

/** Who may hold a session, and how; what web answers to `GET /v1/graph/live`. */
export interface LiveOffer {
  orchestrators: string[];
  providers: string[];
  scenarios: { name: string; start: string; agents: string[] }[];
  /** Of a cascade: that a model writes its answers. */
  leaves: LeavesInCalls[];
  problem: string | null;
}
