// What the page hears from web. The truth is contracts/; its examples are read by the page's tests.

export type Lines = [first: number, last: number];

export interface Source {
  id: string;
  path: string;
  ordinal: number;
  heading: string[];
  lines: Lines;
  text: string;
  version: string;
  saved_at: string;
}

export interface Support {
  source_id: string;
  lines: Lines;
}

export interface Sentence {
  type: "sentence";
  index: number;
  /** Code points of the answer, half-open. */
  span: [start: number, end: number];
  support: Support[];
  verdict: "supported" | "unsupported";
}

export type ErrorCode =
  | "deadline" | "worker_lost" | "search_failed" | "model_failed" | "model_refused" | "rate_limited" | "cancelled"
  | "interrupted" | "not_stored" | "unavailable" | "stopping" | "not_found" | "internal";

export type Frame = { cursor?: string | null } & (
  | { type: "accepted"; turn_id: string; trace_id: string }
  | { type: "status"; stage: "waiting" | "searching" | "answering" }
  | { type: "sources"; sources: Source[] }
  | { type: "delta"; text: string }
  | Sentence
  | { type: "done"; answer: string; sources: Source[]; abstained?: boolean }
  | { type: "error"; code: ErrorCode; message: string }
  | { type: "snapshot"; answer: string; sources: Source[]; sentences: Sentence[] }
);

export interface Refusal {
  code: string;
  message: string;
}

export interface StoredTurn {
  turn_id: string;
  chat_id: string;
  trace_id: string;
  question: string;
  status: "waiting" | "running" | "completed" | "interrupted" | "cancelled" | "failed";
  answer: string | null;
  abstained: boolean;
  sources: Source[];
  sentences: Sentence[];
  /** Code points of the answer that were heard. */
  heard: number | null;
  error_code: ErrorCode | null;
  error_message: string | null;
}

export interface Chat {
  chat_id: string;
  turns: StoredTurn[];
}

export interface SourceText {
  path: string;
  version: string;
  changed: boolean;
  saved_at: string;
  text: string;
}

export interface CorpusFile {
  path: string;
  state: "current" | "waiting" | "rejected";
  reason: string | null;
  chunks: number;
  bytes: number | null;
  saved_at: string | null;
  indexed_at: string | null;
}

export interface Rejected {
  path: string;
  reason: string;
}

export interface RefreshReport {
  status: "finished" | "failed";
  reason: string | null;
  added: number;
  changed: number;
  deleted: number;
  unchanged: number;
  rejected: Rejected[];
  embedded: number;
  finished_at: string;
  duration_ms: number;
}

export interface LeavesInCalls {
  orchestrator: "cascade" | "live";
  what: "questions" | "voice";
  to: string;
}

export interface Corpus {
  mode: "local" | "simulated" | "live";
  embeddings: string;
  answers: string;
  voice: string;
  /** Whether a call may be opened: models of a local voice take a while to load. */
  voice_ready: boolean;
  leaves: { what: "documents" | "questions" | "voice"; to: string | null }[];
  /** What leaves beside it in calls that the server holds, by who answers in them. */
  calls: LeavesInCalls[];
  state: "building" | "current" | "failed";
  version: number;
  folder: string;
  watching: "events" | "polling";
  notices: string[];
  documents: number;
  chunks: number;
  rejected: number;
  progress: { documents: number; staged: number; visible: number } | null;
  last_refresh: RefreshReport | null;
  files: CorpusFile[];
  services: { name: string; state: "ready" | "starting" | "restarting" | "down"; detail: string | null }[];
  /** With `{trace_id}` in the place of the id. */
  trace_url: string | null;
}

export interface DeadLetter {
  id: string;
  stream: string;
  group: string;
  type: string;
  attempts: number;
  reason: string;
  died_at: string;
}

export interface ClientSecret {
  value: string;
  expires_at: number;
  session: Record<string, unknown>;
  voice: "simulated" | "local" | "openai" | "gemini";
  /** Where the provider holds the session; null: at our own origin. */
  url: string | null;
  chat_id: string;
}
