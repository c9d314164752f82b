// The page: one chat, its turns, the call, and the rail beside them.

import { AnswerView } from "./answer.js";
import { Call } from "./call.js";
import { uuid, web } from "./client.js";
import { byId, fill, h } from "./dom.js";
import { follow } from "./follow.js";
import { FolderPanel } from "./folder.js";
import { ENDED, asked, restored } from "./frames.js";
import { lengthOf } from "./offsets.js";
import { SourcePanel, wantedOf } from "./source.js";
import { presence, startLine, welcomeLine } from "./words.js";

/** @import { Connection } from "./call.js" */
/** @import { Turn } from "./frames.js" */

const CHAT = "talkdown.chat";
const LONGEST = 2000;

/**
 * A chat ends with its signal: whatever still runs for it then is late, and is dropped.
 * @typedef {object} Chat
 * @property {string} id
 * @property {AbortController} ended
 * @property {{ turn: Turn, view: AnswerView, stop: AbortController }[]} turns
 */

/** @type {Chat | null} */
let chat = null;
/**
 * The call that opens or stands. The chat it opens for is begun once it stands.
 * @type {Call | null}
 */
let call = null;
/** @type {Connection} */
let connection = { kind: "off" };
let lost = false;
/** @type {string | null} */
let traceUrl = null;
/** @type {string | null} */
let voice = null;

const question = /** @type {HTMLTextAreaElement} */ (byId("question"));
const wide = matchMedia("(min-width: 66rem)");

// The chat

/**
 * @param {string} id
 * @returns {Chat}
 */
function begin(id) {
  chat = { id, ended: new AbortController(), turns: [] };
  remember(id);
  return chat;
}

/**
 * Keep the chat for a reload of this tab. A browser that keeps nothing for pages only loses that.
 * @param {string | null} id
 */
function remember(id) {
  try {
    if (id === null) sessionStorage.removeItem(CHAT);
    else sessionStorage.setItem(CHAT, id);
  } catch {
    // Storage is switched off.
  }
}

function remembered() {
  try {
    return sessionStorage.getItem(CHAT);
  } catch {
    return null;
  }
}

/** End the call and the chat. */
function end() {
  hangUp();
  clear();
}

/** End the call, or the attempt at one; the conversation stays. */
function hangUp() {
  call?.stop();
  call = null;
  connection = { kind: "off" };
  fill(byId("question-problem"));
  show();
}

/** End the chat and clear the page; the turns that run are stopped, and nothing late is let in. */
function clear() {
  const ending = chat;
  chat = null;
  lost = false;
  remember(null);
  ending?.ended.abort();
  for (const { turn } of ending?.turns ?? []) {
    if (turn.turnId !== null && !ENDED.has(turn.stage)) stopTurn(turn.turnId);
  }
  byId("turns").replaceChildren();
  byId("said").replaceChildren();
  closeSource();
  show();
}

/**
 * Put a turn on the page and follow it to its end.
 * @param {Chat} within
 * @param {Turn} first
 */
async function add(within, first) {
  const stop = new AbortController();
  within.ended.signal.addEventListener("abort", () => stop.abort(), { once: true });
  const view = new AnswerView(first.question, {
    openSource: (source, lit, from) => openSource(wantedOf(source, lit), from),
    askAgain: (words) => submit(words),
    stop: stopTurn,
    traceLink: (traceId) => traceUrl?.replace("{trace_id}", traceId) ?? null,
    say: (words) => {
      if (!ENDED.has(first.stage)) byId("said").append(h("p", {}, words));
    },
  });
  const entry = { turn: first, view, stop };
  within.turns.push(entry);
  byId("turns").append(view.element);
  let drawing = false;
  const draw = () => {
    drawing = false;
    if (chat !== within) return;
    const following = atFoot();
    view.show(entry.turn);
    if (following) scroller().scrollTo({ top: scroller().scrollHeight });
    show();
  };
  draw();
  await follow(web, within.id, first, stop.signal, {
    changed: (turn) => {
      entry.turn = turn;
      if (drawing) return;
      drawing = true;
      requestAnimationFrame(draw);
    },
    lost: (now) => {
      if (chat !== within) return;
      lost = now;
      show();
    },
    isKnown: (turnId) => within.turns.some(({ turn }) => turn.turnId === turnId),
  });
  if (chat !== within) return;
  lost = false;
  draw();
}

/** @param {string} words */
function submit(words) {
  const text = words.trim();
  const length = lengthOf(text);
  const long = length > LONGEST && `A question has at most 2,000 characters; this one has ${length.toLocaleString("en")}.`;
  fill(byId("question-problem"), text === "" ? "Type a question first." : long);
  if (text === "" || long) return false;
  if (connection.kind === "starting" && chat !== null && chat.id !== call?.chatId) {
    // Asked now, the question would leave with the chat that the call takes the place of.
    fill(byId("question-problem"), "The call is opening a fresh chat: ask once it stands, or press Stop and ask here.");
    return false;
  }
  byId("said").replaceChildren();
  void add(chat ?? begin(call?.chatId ?? uuid()), asked(text));
  scroller().scrollTo({ top: scroller().scrollHeight });
  return true;
}

/** Stop the newest answer that runs; the chat goes on. */
function stopAnswer() {
  const running = chat?.turns.findLast(({ turn }) => !ENDED.has(turn.stage));
  if (running?.turn.turnId) stopTurn(running.turn.turnId);
}

/** @param {string} turnId */
function stopTurn(turnId) {
  // A turn that has just ended, or a connection that is gone: the turn's own frames say what became of it.
  void web.cancel(turnId).catch(() => undefined);
}

async function restore() {
  const id = remembered();
  if (id === null) return;
  const within = begin(id);
  try {
    const stored = await web.chat(id, within.ended.signal);
    for (const turn of stored.turns) void add(within, restored(turn));
    scroller().scrollTo({ top: scroller().scrollHeight });
  } catch {
    // A chat that cannot be read is begun anew with the next question.
    if (chat === within && within.turns.length === 0) clear();
  }
}

// The call

/** Open a call. The conversation stays as it is until the call stands, which begins its fresh chat. */
function start() {
  hangUp();
  const opening = new Call(uuid(), {
    credential: web.credential,
    browser: { isSecureContext, mediaDevices: navigator.mediaDevices },
    connect: (url, protocols) => new WebSocket(url, protocols),
    changed: (now) => {
      if (call !== opening) return;
      if (now.kind === "on" && chat?.id !== opening.chatId) {
        clear();
        begin(opening.chatId);
      }
      if (now.kind === "failed") call = null;
      if (now.kind !== "starting") fill(byId("question-problem"));
      connection = now;
      show();
    },
  });
  call = opening;
  void opening.start();
  question.focus();
}

// What is shown of all this

function show() {
  const running = chat?.turns.findLast(({ turn }) => !ENDED.has(turn.stage));
  const calling = connection.kind === "starting" || connection.kind === "on" || connection.kind === "returning";
  const stage = running?.turn.stage ?? null;
  const empty = chat === null || chat.turns.length === 0;
  document.body.classList.toggle("empty", empty);
  byId("welcome").hidden = !empty;
  byId("fresh").hidden = empty || calling;
  fill(byId("call"), calling ? "Stop" : "Start");
  byId("call").classList.toggle("quiet", !calling && voice === "simulated");
  for (const name of ["aria-label", "title"]) {
    if (calling || voice === null) byId("call").removeAttribute(name);
    else byId("call").setAttribute(name, startLine(voice));
  }
  fill(byId("presence-words"), presence(stage, connection, lost));
  byId("orb").dataset.state =
    connection.kind === "failed" && stage === null
      ? "failed"
      : stage === null
        ? "idle"
        : stage === "answering"
          ? "answering"
          : "searching";
}

/** @param {string[]} notices */
function notify(notices) {
  const box = byId("notices");
  const now = [...box.children].map((child) => child.textContent);
  if (now.join("\n") !== notices.join("\n")) box.replaceChildren(...notices.map((text) => h("p", {}, text)));
}

function scroller() {
  return wide.matches ? byId("main") : /** @type {HTMLElement} */ (document.scrollingElement);
}

function atFoot() {
  const { scrollTop, clientHeight, scrollHeight } = scroller();
  return scrollHeight - scrollTop - clientHeight < 120;
}

// The rail

/** @type {HTMLElement | null} */
let cameFrom = null;

/** @param {boolean} open */
function openRail(open) {
  const over = open && !wide.matches;
  byId("rail").classList.toggle("open", open);
  byId("rail-toggle").setAttribute("aria-expanded", String(open));
  // Over the conversation the rail is all there is for the keyboard; beside it, both are.
  byId("main").inert = over;
  /** @type {HTMLElement} */ (document.querySelector(".top")).inert = over;
}

/**
 * @param {import("./source.js").Wanted} wanted
 * @param {HTMLElement} from where the focus goes back to
 */
function openSource(wanted, from) {
  cameFrom = from;
  document.querySelectorAll(".cite[aria-current]").forEach((link) => link.removeAttribute("aria-current"));
  if (from.classList.contains("cite")) from.setAttribute("aria-current", "true");
  byId("folder").hidden = true;
  byId("source").hidden = false;
  openRail(true);
  byId("source-title").focus();
  void source.show(wanted);
}

function closeSource() {
  if (byId("source").hidden) return;
  byId("source").hidden = true;
  byId("folder").hidden = false;
  document.querySelectorAll(".cite[aria-current]").forEach((link) => link.removeAttribute("aria-current"));
  const back = cameFrom;
  cameFrom = null;
  if (back?.classList.contains("file")) return byId("folder-title").focus();
  openRail(false);
  if (back?.isConnected) back.focus();
}

function closeRail() {
  openRail(false);
  byId("rail-toggle").focus();
}

const source = new SourcePanel(web.document);
const folder = new FolderPanel({
  corpus: web.corpus,
  refresh: web.refresh,
  deadLetters: web.deadLetters,
  replay: web.replay,
  openFile: (path, from) => openSource({ path, lit: [] }, from),
  changed: (corpus, notices) => {
    notify(notices);
    if (corpus === null) return;
    if (traceUrl !== corpus.trace_url) {
      traceUrl = corpus.trace_url;
      // Answers that were there before it was known where traces are looked at get their links now.
      for (const { turn, view } of chat?.turns ?? []) view.show(turn);
    }
    voice = corpus.voice;
    fill(byId("welcome-how"), welcomeLine(voice));
    show();
    const none = corpus.state === "current" && corpus.documents === 0;
    fill(byId("welcome-folder"), none && `${corpus.folder} holds no Markdown yet: save a note there, then ask.`);
  },
});

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
byId("call").addEventListener("click", () => {
  if (connection.kind === "starting") hangUp();
  else if (connection.kind === "on" || connection.kind === "returning") end();
  else start();
});
byId("fresh").addEventListener("click", () => {
  end();
  question.focus();
});
byId("rail-toggle").addEventListener("click", () => {
  closeSource();
  openRail(true);
  byId("folder-title").focus();
});
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => (button.getAttribute("data-close") === "source" ? closeSource() : closeRail()));
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    if (!byId("source").hidden) closeSource();
    else if (!wide.matches && byId("rail").classList.contains("open")) closeRail();
    else stopAnswer();
  } else if (event.key === "/" && event.target === document.body) {
    event.preventDefault();
    question.focus();
  }
});
wide.addEventListener("change", () => openRail(!wide.matches && byId("rail").classList.contains("open")));
addEventListener("pagehide", () => call?.stop());

function grow() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight}px`;
}

show();
void restore();
void folder.look();
question.focus({ preventScroll: true });
