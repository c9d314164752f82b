// The page: the conversation, the call, the question box, and the rail beside them, put together.

import { Calling } from "./calling.js";
import { web } from "./client.js";
import { WRITES } from "./controls.js";
import { Conversation } from "./conversation.js";
import { byId, fill, h } from "./dom.js";
import { FolderPanel } from "./folder.js";
import { lengthOf } from "./offsets.js";
import { Remembered } from "./remembered.js";
import { Rail } from "./rail.js";
import { welcomeLine } from "./words.js";

const LONGEST = 2000;
const question = /** @type {HTMLTextAreaElement} */ (byId("question"));

const rail = new Rail(web.document);

const conversation = new Conversation({
  openSource: (wanted, from) => rail.openSource(wanted, from),
  askAgain: (words) => submit(words),
  speaker: () => calling.speaker(),
  speaksFrom: (spoken) => rail.speaksFrom(spoken),
  changed: show,
});

const calling = new Calling({
  stands: (chatId) => {
    if (conversation.chat?.id === chatId) return;
    clear();
    conversation.begin(chatId);
  },
  ask: (words) => conversation.ask(words, calling.chatId),
  happened: (moment) => conversation.happened(moment),
  heard: (turnId, heard) => conversation.heardUpTo(turnId, heard),
  told: (words, chatId, byModel) => conversation.told(words, chatId, byModel),
  changedHands: (agent, previous) => conversation.changedHands(agent, previous),
  ended: end,
  changed: show,
});

const folder = new FolderPanel({
  corpus: web.corpus,
  refresh: web.refresh,
  deadLetters: web.deadLetters,
  replay: web.replay,
  openFile: (path, from) => rail.openSource({ path, lit: [] }, from),
  changed: (corpus, notices) => {
    notify(notices);
    if (corpus === null) return;
    conversation.tracesAt(corpus.trace_url);
    if (calling.voice !== corpus.voice) void calling.through.look();
    calling.voice = corpus.voice;
    calling.ready = corpus.voice_ready;
    fill(byId("welcome-how"), welcomeLine(corpus.voice));
    show();
    const none = corpus.state === "current" && corpus.documents === 0;
    fill(byId("welcome-folder"), none && `${corpus.folder} holds no Markdown yet: save a note there, then ask.`);
  },
});

new Remembered({ facts: web.facts, forget: web.forget });

/** End the call and the chat. */
function end() {
  calling.hangUp();
  clear();
}

function clear() {
  conversation.clear();
  rail.closeSource();
}

/**
 * Ask what was typed; whether it was asked.
 * @param {string} words
 */
function submit(words) {
  const text = words.trim();
  const length = lengthOf(text);
  const long = length > LONGEST && `A question has at most 2,000 characters; this one has ${length.toLocaleString("en")}.`;
  fill(byId("question-problem"), text === "" ? "Type a question first." : long);
  if (text === "" || long) return false;
  if (calling.connection.kind === "starting" && conversation.chat !== null && conversation.chat.id !== calling.chatId) {
    // Asked now, the question would leave with the chat that the call takes the place of.
    fill(byId("question-problem"), "The call is opening a fresh chat: ask once it stands, or press Stop and ask here.");
    return false;
  }
  if (!calling.ask(text)) conversation.ask(text, calling.chatId);
  return true;
}

function show() {
  const stage = conversation.running?.turn.stage ?? null;
  const { connection } = calling;
  document.body.classList.toggle("empty", conversation.empty);
  byId("welcome").hidden = !conversation.empty;
  byId("fresh").hidden = conversation.empty || calling.on || connection.kind === "starting";
  calling.show(stage, conversation.lost);
  conversation.follow(calling.doing);
}

/** @param {string[]} notices */
function notify(notices) {
  const box = byId("notices");
  const now = [...box.children].map((child) => child.textContent);
  if (now.join("\n") !== notices.join("\n")) box.replaceChildren(...notices.map((text) => h("p", {}, text)));
}

// What a person does

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!submit(question.value)) return;
  question.value = "";
  grow();
});
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  /** @type {HTMLFormElement} */ (byId("ask")).requestSubmit();
});
question.addEventListener("input", () => {
  grow();
  fill(byId("question-problem"));
});
byId("fresh").addEventListener("click", () => {
  end();
  question.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    if (!calling.back() && !rail.back()) conversation.stopAnswer();
  } else if (event.key === "/" && event.target instanceof Element && !event.target.closest(WRITES)) {
    event.preventDefault();
    question.focus();
  }
});

function grow() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight}px`;
}

show();
void conversation.restore();
void folder.look();
question.focus({ preventScroll: true });
