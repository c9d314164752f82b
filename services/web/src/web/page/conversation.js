// The conversation: one chat, the turns in it, and their answers as they are written.

import { AnswerView } from "./answer.js";
import { uuid, web } from "./client.js";
import { byId, h } from "./dom.js";
import { follow } from "./follow.js";
import { ENDED, asked, restored } from "./frames.js";
import { TAB, keep, kept } from "./kept.js";
import { allDark } from "./spotlight.js";
import { wantedOf } from "./source.js";
import { toldTurn } from "./told-turn.js";

/** @import { Turn } from "./frames.js" */
/** @import { ToldTurn } from "./live" */
/** @import { Wanted } from "./source.js" */
/** @import { Moments } from "./timeline.js" */
/** @import { Doing, Moment, Speaker } from "./voice" */
/** @import { Lines, Source } from "./wire" */

/**
 * A turn, and where it is shown.
 * @typedef {{ turn: Turn, view: AnswerView, stop: AbortController, moments: Moments, heard: number | null }} Entry
 *
 * A turn on the page, and how it is drawn anew.
 * @typedef {{ entry: Entry, draw: () => void, changed: (turn: Turn) => void }} Shown
 *
 * A chat ends with its signal: whatever still runs for it then is late, and is dropped.
 * @typedef {object} Chat
 * @property {string} id
 * @property {AbortController} ended
 * @property {Entry[]} turns
 *
 * @typedef {object} ConversationNeeds
 * @property {(wanted: Wanted, from: HTMLElement) => void} openSource
 * @property {(question: string) => void} askAgain
 * @property {() => Speaker | null} speaker who says the answer to a question that is asked now
 * @property {(spoken: { source: Source, lines: Lines[] } | null) => void} speaksFrom the source of what is being said
 * @property {() => void} changed
 */

const CHAT = "chat";
/** Who says the answers of turns that the server holds. @type {Speaker} */
const SPOKEN_ELSEWHERE = { changed: () => undefined };
const wide = matchMedia("(min-width: 66rem)");

export class Conversation {
  /** @type {Chat | null} */
  chat = null;
  /** Whether the connection to the running answer is lost for the moment. */
  lost = false;
  /**
   * Where traces are looked at, with `{trace_id}` in the place of the id.
   * @type {string | null}
   */
  #traceUrl = null;
  /** @type {Extract<Doing, { kind: "speaking" }> | null} */
  #speaking = null;
  /**
   * What happened before its turn was known by an id.
   * @type {Moments}
   */
  #before = {};

  /** @param {ConversationNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** The newest turn that runs. */
  get running() {
    return this.chat?.turns.findLast(({ turn }) => !ENDED.has(turn.stage));
  }

  get empty() {
    return this.chat === null || this.chat.turns.length === 0;
  }

  /**
   * Begin a chat; there is none, or the last one was cleared.
   * @param {string} id
   * @returns {Chat}
   */
  begin(id) {
    this.chat = { id, ended: new AbortController(), turns: [] };
    keep(TAB, CHAT, id);
    return this.chat;
  }

  /** End the chat and clear the page; the turns that run are stopped, and nothing late is let in. */
  clear() {
    const ending = this.chat;
    this.chat = null;
    this.lost = false;
    keep(TAB, CHAT, null);
    ending?.ended.abort();
    for (const { turn } of ending?.turns ?? []) {
      if (turn.turnId !== null && !ENDED.has(turn.stage)) stopTurn(turn.turnId);
    }
    this.#speaking = null;
    allDark();
    this.needs.speaksFrom(null);
    byId("turns").replaceChildren();
    byId("said").replaceChildren();
    this.needs.changed();
  }

  /**
   * Ask in this chat, or in a fresh one.
   * @param {string} question
   * @param {string} [freshId] of the chat that is begun if there is none
   */
  ask(question, freshId = uuid()) {
    byId("said").replaceChildren();
    void this.#add(this.chat ?? this.begin(freshId), asked(question));
    this.#toFoot();
  }

  /** Stop the newest answer that runs; the chat goes on. */
  stopAnswer() {
    const id = this.running?.turn.turnId;
    if (id) stopTurn(id);
  }

  /** Bring back the chat that this tab had before it was reloaded. */
  async restore() {
    const id = kept(TAB, CHAT);
    if (id === null) return;
    const within = this.begin(id);
    try {
      const stored = await web.chat(id, within.ended.signal);
      for (const turn of stored.turns) void this.#add(within, restored(turn));
      this.#toFoot();
    } catch {
      // A chat that cannot be read is begun anew with the next question.
      if (this.chat === within && within.turns.length === 0) this.clear();
    }
  }

  /**
   * Light what a call says now.
   * @param {Doing | null} doing
   */
  follow(doing) {
    const now = doing?.kind === "speaking" ? doing : null;
    if (now === null && this.#speaking === null) return;
    if (now?.turnId !== this.#speaking?.turnId) {
      const last = this.#entry(this.#speaking?.turnId);
      last?.view.spoken(last.turn, null, 0);
    }
    this.#speaking = now;
    this.#light();
  }

  /**
   * Something happened in the call, for the timeline of its turn.
   * @param {Moment} moment
   */
  happened({ name, at, turnId }) {
    if (name === "speech_stopped") this.#before = {};
    const moments = turnId === null ? this.#before : this.#entry(turnId)?.moments;
    // When a question is asked is known here, of those that are typed too.
    if (moments === undefined || name === "question") return;
    moments[name] ??= at;
    if (name !== "first_audio") return;
    const following = atFoot();
    this.#entry(turnId)?.view.timed(moments);
    if (following) this.#toFoot();
  }

  /**
   * Speech broke an answer off: what was not heard of it stands back.
   * @param {string} turnId
   * @param {number} heard code points of the answer
   */
  heardUpTo(turnId, heard) {
    const entry = this.#entry(turnId);
    if (entry === undefined) return;
    entry.heard = heard;
    entry.view.show({ ...entry.turn, heard });
  }

  #light() {
    const entry = this.#entry(this.#speaking?.turnId);
    const speaking = this.#speaking;
    this.needs.speaksFrom(
      entry === undefined || speaking === null ? null : entry.view.spoken(entry.turn, speaking.span, speaking.heard),
    );
  }

  /** @param {string | null | undefined} turnId */
  #entry(turnId) {
    return this.chat?.turns.find(({ turn }) => turn.turnId !== null && turn.turnId === turnId);
  }

  /** @param {string | null} url */
  tracesAt(url) {
    if (this.#traceUrl === url) return;
    this.#traceUrl = url;
    // Answers that were there before it was known where traces are looked at get their links now.
    for (const { turn, view, heard } of this.chat?.turns ?? []) view.show({ ...turn, heard });
  }

  /**
   * A turn that the server holds begins; what is known of it is told.
   * @param {string} question
   * @param {string} chatId
   * @param {boolean} byModel whether a model writes answers that have no frames
   * @returns {ToldTurn}
   */
  told(question, chatId, byModel) {
    byId("said").replaceChildren();
    const within = this.chat ?? this.begin(chatId);
    const shown = this.#enter(within, { ...asked(question), byModel }, SPOKEN_ELSEWHERE);
    this.#toFoot();
    return toldTurn(shown, {
      follow: (turn) => void this.#follow(within, turn, shown),
      over: () => this.chat !== within,
    });
  }

  /**
   * Another agent has the floor.
   * @param {string} agent
   * @param {string} previous
   */
  changedHands(agent, previous) {
    const following = atFoot();
    this.chat?.turns.at(-1)?.view.answer.before(h("p", { class: "hands" }, `${previous} gives the floor to ${agent}.`));
    if (following) this.#toFoot();
  }

  /**
   * Put a turn on the page and follow it to its end.
   * @param {Chat} within
   * @param {Turn} first
   */
  async #add(within, first) {
    const speaker = ENDED.has(first.stage) ? null : this.needs.speaker();
    await this.#follow(within, first, this.#enter(within, first, speaker));
  }

  /**
   * @param {Chat} within
   * @param {Turn} first
   * @param {Speaker | null} speaker
   * @returns {Shown}
   */
  #enter(within, first, speaker) {
    const stop = new AbortController();
    within.ended.signal.addEventListener("abort", () => stop.abort(), { once: true });
    const view = new AnswerView(first.question, {
      openSource: (source, lit, from) => this.needs.openSource(wantedOf(source, lit), from),
      askAgain: this.needs.askAgain,
      stop: stopTurn,
      aloud: () => this.needs.speaker()?.changed(entry.turn),
      traceLink: (traceId) => this.#traceUrl?.replace("{trace_id}", traceId) ?? null,
      say: (words) => {
        // What a voice says is not read out beside it.
        if (!ENDED.has(first.stage) && speaker === null) byId("said").append(h("p", {}, words));
      },
    });
    /** @type {Entry} */
    const entry = { turn: first, view, stop, heard: first.heard, moments: { ...(this.#before.transcript && this.#before), question: Date.now() } };
    this.#before = {};
    within.turns.push(entry);
    byId("turns").append(view.element);
    let drawing = false;
    const draw = () => {
      drawing = false;
      if (this.chat !== within) return;
      const following = atFoot();
      view.show({ ...entry.turn, heard: entry.heard });
      if (following) this.#toFoot();
      if (this.#speaking !== null && this.#speaking.turnId === entry.turn.turnId) this.#light();
      this.needs.changed();
    };
    draw();
    return {
      entry,
      draw,
      changed: (turn) => {
        if (turn.sources.length > 0) entry.moments.found ??= Date.now();
        entry.turn = turn;
        speaker?.changed(turn);
        if (drawing) return;
        drawing = true;
        requestAnimationFrame(draw);
      },
    };
  }

  /**
   * @param {Chat} within
   * @param {Turn} turn
   * @param {Shown} shown
   */
  async #follow(within, turn, { entry, draw, changed }) {
    await follow(web, within.id, turn, entry.stop.signal, {
      changed,
      lost: (now) => {
        if (this.chat !== within) return;
        this.lost = now;
        this.needs.changed();
      },
      isKnown: (turnId) => within.turns.some((one) => one.turn.turnId === turnId),
    });
    if (this.chat !== within) return;
    this.lost = false;
    draw();
  }

  #toFoot() {
    scroller().scrollTo({ top: scroller().scrollHeight });
  }
}

/** @param {string} turnId */
function stopTurn(turnId) {
  // A turn that has just ended, or a connection that is gone: the turn's own frames say what became of it.
  void web.cancel(turnId).catch(() => undefined);
}

function scroller() {
  return wide.matches ? byId("main") : /** @type {HTMLElement} */ (document.scrollingElement);
}

function atFoot() {
  const { scrollTop, clientHeight, scrollHeight } = scroller();
  return scrollHeight - scrollTop - clientHeight < 120;
}
