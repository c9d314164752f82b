// A call that the server holds, from Start to Stop: the microphone, a credential, and one WebSocket that comes back by
// itself. It is for where sound cannot pass otherwise, and for whoever wants the server's agents.

import { CLOCK } from "./clock.js";
import { LiveDialogue } from "./live-dialogue.js";
import { opening } from "./live-events.js";
import { LiveRefused, LiveWire } from "./live-wire.js";
import { NoMicrophone, openMicrophone, problem, release } from "./microphone.js";
import { Moments } from "./moments.js";

/** @import { ClientSecret } from "./wire" */
/** @import { Live, LiveListener, ToldTurn } from "./live" */
/** @import { LiveOpening } from "./live-wire.js" */
/** @import { Problem } from "./microphone.js" */
/** @import { CallControls, CallNeeds, Clock, Connection, Doing, Levels, MomentName, Speaker } from "./voice" */

/** Milliseconds before each try to come back; about a minute in all, in which a gateway starts anew with its models. */
const WAITS = [250, 500, 1000, 2000, 4000, ...Array.from({ length: 10 }, () => 5000)];
const SILENT = { agent: 0, microphone: 0 };
const NOBODY = /** @type {Speaker} */ ({ changed: () => undefined });

/**
 * @typedef {object} LiveCallNeeds
 * @property {(question: string) => ToldTurn} asked
 * @property {(turn: ToldTurn, heard: number) => void} interrupted
 * @property {(agent: string, previous: string | null) => void} agent
 * @property {string | null} orchestrator that the person chose
 * @property {string | null} note why the server holds this call
 *
 * @typedef {object} LiveAround
 * @property {(opening: LiveOpening) => Promise<Live>} open
 * @property {Clock} clock
 */

/** @type {LiveAround} */
export const SERVER = { open: LiveWire.open, clock: CLOCK };

/**
 * One call. `stop` ends it for good; whatever comes later is ignored.
 * @implements {CallControls}
 */
export class LiveCall {
  /** @type {MediaStream | null} */
  #microphone = null;
  /** @type {Live | null} */
  #wire = null;
  /** @type {ClientSecret | null} */
  #secret = null;
  #ended = new AbortController();
  /** @type {Doing} */
  #doing = { kind: "listening" };
  /** @type {Problem | null} */
  #problem = null;
  /** @type {string | null} */
  #speaker = null;
  #hurry = () => {};

  /**
   * @param {string} chatId
   * @param {CallNeeds & LiveCallNeeds} needs
   * @param {LiveAround} [around]
   */
  constructor(chatId, needs, around = SERVER) {
    this.chatId = chatId;
    this.needs = needs;
    this.around = around;
    this.dialogue = new LiveDialogue({
      clock: around.clock,
      changed: (doing) => this.#does(doing),
      trouble: (trouble) => this.#trouble(trouble),
      asked: (question) => needs.asked(question),
      interrupted: (turn, heard) => needs.interrupted(turn, heard),
      agent: (agent, previous) => needs.agent(agent, previous),
      moment: (name, turnId) => this.#happened(name, turnId),
    });
    this.moments = new Moments({
      clock: around.clock,
      tell: (moments) => {
        // A gateway that is gone is told nothing: the next one knows nothing of the call before.
        if (this.callId !== null && this.#wire !== null) needs.timeline?.(this.callId, moments);
      },
    });
  }

  /** The gateway's name for the call. */
  get callId() {
    const id = this.#secret?.session["id"];
    return typeof id === "string" ? id : null;
  }

  /** Whether what is said leaves the machine. */
  get leaves() {
    return Boolean(this.#wire?.ready.leaves);
  }

  async start() {
    this.#show({ kind: "starting", step: "microphone" });
    try {
      if (!(await this.#takeMicrophone())) return;
      this.#show({ kind: "starting", step: "connection" });
      await this.#open();
      this.#watchBrowser();
    } catch (error) {
      this.#fail(error instanceof NoMicrophone ? error.problem : unreached(error));
    }
  }

  stop() {
    if (this.#ended.signal.aborted) return;
    this.moments.flush();
    this.#ended.abort();
    this.dialogue.detach();
    this.#wire?.close();
    this.#wire = null;
    release(this.#microphone);
    this.#microphone = null;
    this.#hurry();
  }

  /**
   * Ask in writing; whether there is a session to ask.
   * @param {string} text
   */
  ask(text) {
    return this.dialogue.ask(text);
  }

  /** The server speaks by itself. */
  speak() {
    return NOBODY;
  }

  /** @returns {Levels} */
  levels() {
    return this.#wire?.levels() ?? SILENT;
  }

  /** @param {boolean} on a session takes turns in one way to its end: another one takes its place */
  pushToTalk(on) {
    if (on === this.dialogue.byHand) return;
    this.dialogue.talkByHand(on);
    const wire = this.#wire;
    if (wire === null) return;
    wire.close();
    void this.#lost("", true);
  }

  /** @param {boolean} on */
  mute(on) {
    this.dialogue.mute(on);
  }

  press() {
    this.dialogue.press();
  }

  release() {
    this.dialogue.release();
  }

  retract() {
    this.dialogue.retract();
  }

  hush() {
    this.dialogue.hush();
  }

  async changeMicrophone() {
    if (!(await this.#takeMicrophone()) || this.#microphone === null) return;
    await this.#wire?.useMicrophone(this.#microphone);
    if (this.#problem?.code === "ended") this.#trouble(null);
  }

  /** @param {string} deviceId */
  async changeSpeaker(deviceId) {
    this.#speaker = deviceId;
    await this.#wire?.useSpeaker(deviceId);
  }

  async unblock() {
    await this.#wire?.unblock();
    if (this.#problem?.code === "blocked") this.#trouble(null);
  }

  async #takeMicrophone() {
    const { needs } = this;
    const taken = await (needs.microphone?.() ?? openMicrophone(needs.browser));
    if (this.#ended.signal.aborted) {
      release(taken);
      return false;
    }
    release(this.#microphone);
    this.#microphone = taken;
    for (const track of taken.getAudioTracks()) track.addEventListener("ended", () => void this.#unplugged(taken));
    return true;
  }

  /** @param {MediaStream} gone */
  async #unplugged(gone) {
    if (this.#microphone !== gone || this.#ended.signal.aborted) return;
    try {
      await this.changeMicrophone();
    } catch {
      this.#trouble(problem("ended"));
    }
  }

  #watchBrowser() {
    const on = { signal: this.#ended.signal };
    globalThis.addEventListener?.("online", () => this.#hurry(), on);
    const seen = () => {
      this.#hurry();
      void this.#wire?.unblock().catch(() => undefined);
    };
    globalThis.document?.addEventListener("visibilitychange", seen, on);
  }

  /** @returns {Promise<void>} */
  async #open() {
    const { needs } = this;
    const { signal } = this.#ended;
    const secret = await needs.credential(this.chatId, signal);
    signal.throwIfAborted();
    const byHand = this.dialogue.byHand;
    const wire = await this.around.open({
      microphone: /** @type {MediaStream} */ (this.#microphone),
      url: liveUrl(),
      credential: secret.value,
      wanted: opening({ orchestrator: needs.orchestrator, byHand }),
      connect: needs.connect,
      listener: this.#listener(),
      signal,
    });
    if (signal.aborted) return wire.close();
    this.#secret = secret;
    this.#wire = wire;
    if (this.#speaker !== null) void wire.useSpeaker(this.#speaker).catch(() => undefined);
    if (byHand !== this.dialogue.byHand) {
      // Chosen while it was opened.
      wire.close();
      return this.#open();
    }
    if (this.#problem?.code === "returning") this.#problem = null;
    this.dialogue.attach(wire);
  }

  /** @returns {LiveListener} what is heard of one connection, for as long as it is the call's or becomes it */
  #listener() {
    let over = false;
    const { dialogue } = this;
    return {
      event: (event) => !over && dialogue.event(event),
      began: (id) => !over && dialogue.began(id),
      played: (id, ms) => !over && dialogue.played(id, ms),
      idle: () => !over && dialogue.idle(),
      lost: (why, mayReturn) => {
        if (over) return;
        over = true;
        void this.#lost(why, mayReturn);
      },
      blocked: () => this.#trouble(problem("blocked")),
    };
  }

  /**
   * @param {string} why
   * @param {boolean} mayReturn
   */
  async #lost(why, mayReturn) {
    this.dialogue.detach();
    this.#wire = null;
    for (const [place, wait] of WAITS.entries()) {
      if (!mayReturn || this.#ended.signal.aborted) break;
      this.#show({ kind: "returning", attempt: place + 1 });
      if (why !== "" || place > 0) await this.#pause(wait);
      if (this.#ended.signal.aborted) return;
      try {
        return await this.#open();
      } catch (error) {
        if (error instanceof LiveRefused && !error.again) {
          mayReturn = false;
          why = error.message;
        }
      }
    }
    this.#fail(mayReturn ? LOST : { ...LOST, message: why });
  }

  /**
   * Wait, or until the network is back.
   * @param {number} ms
   * @returns {Promise<void>}
   */
  #pause(ms) {
    return new Promise((resolve) => {
      const stop = this.around.clock.after(ms, () => resolve());
      this.#hurry = () => {
        stop();
        resolve();
      };
    });
  }

  /** @param {Doing} doing */
  #does(doing) {
    if (doing.kind === "hearing" && this.#doing.kind !== "hearing" && !STAYS.has(this.#problem?.code ?? "")) this.#problem = null;
    this.#doing = doing;
    if (this.#wire === null || this.#secret === null) return;
    const { voice } = this.#secret;
    this.#show({
      kind: "on",
      // What the server holds speaks, whatever the page's own calls do.
      voice: voice === "simulated" ? "local" : voice,
      transport: this.#wire.kind,
      note: [this.needs.note, leavingLine(this.#wire.ready)].filter(Boolean).join(" ") || null,
      doing,
      problem: this.#problem,
    });
  }

  /** @param {Problem | null} trouble */
  #trouble(trouble) {
    this.#problem = trouble;
    this.#does(this.#doing);
  }

  /**
   * @param {MomentName} name
   * @param {string | null} turnId
   */
  #happened(name, turnId) {
    const moment = { name, at: this.around.clock.now(), turnId };
    this.needs.moment?.(moment, this.callId ?? "");
    this.moments.add(moment);
  }

  /** @param {Problem} why */
  #fail(why) {
    if (this.#ended.signal.aborted) return;
    this.stop();
    this.needs.changed({ kind: "failed", problem: why });
  }

  /** @param {Connection} connection */
  #show(connection) {
    if (!this.#ended.signal.aborted) this.needs.changed(connection);
  }
}

/** Problems that last until what they name is done. */
const STAYS = new Set(["blocked", "ended"]);

const LOST = {
  code: "lost",
  message: "The voice connection was lost.",
  remedy: "Press Start to open a new one. Typing works without it.",
};

/** @param {import("./live").Ready} ready */
function leavingLine({ leaves }) {
  if (!leaves) return null;
  const what = leaves.what === "voice" ? "your voice, questions and passages of your notes" : "questions and passages of your notes";
  return `In this call ${what} go to ${leaves.to}.`;
}

function liveUrl() {
  const at = new URL("/v1/graph/live", location.href);
  at.protocol = at.protocol === "https:" ? "wss:" : "ws:";
  return at.href;
}

/**
 * @param {unknown} error
 * @returns {Problem}
 */
function unreached(error) {
  const said = error instanceof Error && error.message ? ` ${error.message}` : "";
  return {
    code: "voice",
    message: `The voice connection could not be opened.${said}`,
    remedy: "Press Start to try again. Typing works without it.",
  };
}
