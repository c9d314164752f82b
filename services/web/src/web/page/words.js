// Plain words for what the page shows.

/** @import { Corpus, Lines, RefreshReport } from "./wire" */
/** @import { Connection } from "./call.js" */
/** @import { LiveOffer } from "./live" */
/** @import { Stage } from "./frames.js" */

/**
 * "1 note", "3 notes".
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/**
 * What became of the passages that were looked at for an answer.
 * @param {number | null} cited how many of them the answer cites; null while it is written
 * @param {number} total at least 1
 */
export function passagesLine(cited, total) {
  const looked = `${counted(total, "passage")} looked at`;
  if (cited === null) return looked;
  if (cited === 0) return `${looked}, none cited`;
  if (total === 1) return "The passage looked at is cited";
  if (cited === total) return `${total === 2 ? "Both" : `All ${total}`} passages looked at are cited`;
  return `${cited} of ${total} passages looked at ${cited === 1 ? "is" : "are"} cited`;
}

/** @param {Lines} lines */
export function linesOf([first, last]) {
  return first === last ? `line ${first}` : `lines ${first}–${last}`;
}

/**
 * How long ago, in the largest unit that is not a fraction.
 * @param {string} moment RFC 3339
 * @param {number} now milliseconds since 1970
 */
export function ago(moment, now) {
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1000));
  if (seconds < 5) return "just now";
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** @param {number} ms */
export function lasting(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** @param {number | null} bytes */
export function sized(bytes) {
  if (bytes === null) return "";
  return bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} KiB`;
}

/** @param {RefreshReport} report */
export function reported(report) {
  if (report.status === "failed") {
    return `The refresh failed, and the notes are as they were: ${report.reason ?? "no reason was given"}`;
  }
  const parts = [
    report.added && `${report.added} added`,
    report.changed && `${report.changed} changed`,
    report.deleted && `${report.deleted} removed`,
    `${report.unchanged} unchanged`,
    report.rejected.length > 0 && `${report.rejected.length} rejected`,
  ].filter(Boolean);
  return `Done in ${lasting(report.duration_ms)}: ${parts.join(", ")}.`;
}

/** @param {Corpus} corpus */
export function folderName(corpus) {
  return corpus.folder.split("/").filter(Boolean).at(-1) ?? "Folder";
}

/** @param {Corpus} corpus */
export function corpusLine(corpus) {
  const notes = counted(corpus.documents, "note");
  if (corpus.state === "failed") return "needs a look";
  if (corpus.state === "building") return `reading, ${notes} so far`;
  const waiting = corpus.files.filter((file) => file.state === "waiting").length;
  if (waiting > 0) return `${notes}, ${waiting} being read`;
  return `${notes}${corpus.rejected ? `, ${corpus.rejected} rejected` : ""} · current`;
}

/**
 * How questions are asked here, for who has asked none yet.
 * @param {string} voice that the corpus names
 */
export function welcomeLine(voice) {
  return voice === "simulated"
    ? "Type a question: there is no voice here yet, so questions are typed for now."
    : "Press Start and ask aloud, or type a question.";
}

/**
 * What Start does here.
 * @param {string} voice that the corpus names
 */
export function startLine(voice) {
  return voice === "simulated"
    ? "Start: try the microphone and open a fresh chat"
    : "Start: open a call, in a fresh chat";
}

const TOGETHER = new Intl.ListFormat("en-GB");
const LEAVING = { documents: "Notes", questions: "Questions", voice: "Voice" };

/**
 * What leaves in calls through the server, and does not leave anyway.
 * @param {Corpus} corpus
 */
function inCalls({ leaves, calls }) {
  return calls.filter((call) => !leaves.some(({ what, to }) => what === call.what && to === call.to));
}

/**
 * What leaves this machine, kind by kind, and what does in calls.
 * @param {Corpus} corpus
 * @returns {string[]}
 */
export function leavingLines(corpus) {
  const calls = inCalls(corpus);
  const kinds = corpus.leaves.map(({ what, to }) => {
    if (to !== null) return `${LEAVING[what]}: go to ${to}`;
    const called = calls.some((call) => what !== "voice" || call.what === "voice");
    return `${LEAVING[what]}: stay here${called ? ", but for calls through the server" : ""}`;
  });
  return [...kinds, ...calls.map((call) => `${callLine(call)}.`)];
}

/** @param {Corpus["calls"][number]} call */
function callLine({ what, to }) {
  return what === "voice"
    ? `In calls through the server that a speech model answers, your voice, questions and passages go to ${to}`
    : `In calls through the server, questions and passages go to ${to}`;
}

/** @param {Corpus} corpus */
function providerOf(corpus) {
  return corpus.leaves.find((one) => one.what === "documents")?.to ?? "the provider";
}

/**
 * How passages are found.
 * @param {Corpus} corpus
 */
export function searchLine(corpus) {
  switch (corpus.embeddings) {
    case "local":
      return "by meaning and words, on this machine";
    case "openai":
      return `by meaning and words, with ${providerOf(corpus)}`;
    case "scripted":
      return "scripted, for tests";
    default:
      return corpus.embeddings;
  }
}

/**
 * How answers are made.
 * @param {Corpus} corpus
 */
export function answersLine(corpus) {
  const model = corpus.calls.find(({ orchestrator }) => orchestrator === "cascade");
  return `${typedLine(corpus)}${model ? `; in calls through the server written by a model of ${model.to}, unchecked` : ""}`;
}

/** @param {Corpus} corpus */
function typedLine(corpus) {
  switch (corpus.answers) {
    case "extractive":
      return "quoted sentences";
    case "responses":
    case "chat":
      return `written by ${providerOf(corpus)}`;
    case "scripted":
      return "scripted, for tests";
    default:
      return corpus.answers;
  }
}

/**
 * Who answers in one way of the server's calls, short enough for a choice on a phone, and whole below it.
 * @param {string} name of the way
 * @param {LiveOffer} offer
 * @returns {{ label: string, help: string, checked: boolean }}
 */
export function wayOf(name, { leaves }) {
  const to = [...new Set(leaves.filter(({ orchestrator }) => orchestrator === name).map((one) => one.to))].join(" or ");
  if (name === "live") {
    const help = `A speech model of ${to || "the provider"} hears you and writes the answer, with your notes as its tool. Its sentences are not checked against them.`;
    return { label: "A speech model, unchecked", help, checked: false };
  }
  if (name !== "cascade") return { label: name, help: "", checked: true };
  if (to === "") return { label: "My notes, line by line", help: "Each sentence is checked against the lines it came from.", checked: true };
  const help = `A model of ${to} writes the answer. Its sentences are not checked against your notes.`;
  return { label: "A model, unchecked", help, checked: false };
}

/** @param {Corpus} corpus */
export function modeLine(corpus) {
  const away = corpus.leaves.filter((one) => one.to !== null);
  const calls = inCalls(corpus).map((call) => ` · ${callLine(call).replace("In", "in")}`);
  if (away.length === 0) {
    return `${corpus.mode}${calls.length === 0 ? " · nothing leaves this machine" : `${calls.join("")}, else nothing leaves`}`;
  }
  const what = TOGETHER.format(away.map((one) => LEAVING[one.what].toLowerCase()));
  return `${corpus.mode} · ${what} go to ${[...new Set(away.map((one) => one.to))].join(" and ")}${calls.join("")}`;
}

const STAGES = {
  asking: "Sending your question…",
  waiting: "Waiting for its turn…",
  searching: "Searching your notes…",
  answering: "Answering…",
};

/**
 * What the orb means, in words.
 * @param {Stage | null} stage of the turn that runs, if any
 * @param {Connection} connection
 * @param {boolean} lost
 * @param {boolean} [waking] whether the voice is still getting ready
 */
export function presence(stage, connection, lost, waking = false) {
  if (lost) return "The connection was lost. Picking up where it was…";
  if (stage !== null && stage in STAGES) return STAGES[/** @type {keyof typeof STAGES} */ (stage)];
  switch (connection.kind) {
    case "starting":
      return connection.step === "microphone" ? "Asking for the microphone…" : "Opening the connection…";
    case "returning":
      return "The voice connection was lost. Opening it again…";
    case "on":
      return connection.voice === "simulated"
        ? "Connected. The microphone works and was given back: questions are typed."
        : "Listening.";
    case "failed":
      return `${connection.problem.message} ${connection.problem.remedy}`;
    default:
      return waking ? "The voice is getting ready. You can type already." : "Ready.";
  }
}
