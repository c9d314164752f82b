// What every call is, whoever holds it: a microphone that is taken, changed and given back, a connection that comes back
// by itself, and what is shown of both. `Call` and `LiveCall` say how they connect, and what is said over it.

import { NoMicrophone, openMicrophone, problem, release } from "./microphone.js";
import { Moments } from "./moments.js";

/** @import { ClientSecret } from "./wire" */
/** @import { Problem } from "./microphone.js" */
/** @import { CallNeeds, Clock, Connection, Doing, Levels, MomentName, Transport } from "./voice" */

/** Milliseconds before each try to come back; about a minute in all, in which a gateway starts anew with its models. */
const WAITS = [250, 500, 1000, 2000, 4000, ...Array.from({ length: 10 }, () => 5000)];
const SILENT = { agent: 0, microphone: 0 };

/**
 * What a call asks of its connection, whichever it is.
 * @typedef {Pick<Transport, "kind" | "useMicrophone" | "useSpeaker" | "unblock" | "levels" | "close">} Wired
 *
 * What a call asks of what is said over it.
 * @typedef {object} Talk
 * @property {() => void} detach the connection is gone
 * @property {(on: boolean) => void} mute
 * @property {() => void} hush
 *
 * What every dialogue tells its call.
 * @typedef {object} Telling
 * @property {Clock} clock
 * @property {(doing: Doing) => void} changed
 * @property {(problem: Problem | null) => void} trouble
 * @property {(name: MomentName, turnId: string | null) => void} moment
 */

/**
 * One call. `stop` ends it for good; whatever comes later is ignored.
 * @template {Wired} Wire
 * @template {Talk} Dialogue
 * @template {CallNeeds} Needs
 */
export class StandingCall {
  /** @protected @type {MediaStream | null} */
  microphone = null;
  /** @protected @type {Wire | null} */
  wire = null;
  /** @protected @type {ClientSecret | null} */
  secret = null;
  /** @protected */
  ended = new AbortController();
  /** @type {Problem | null} */
  #problem = null;
  /** @type {Doing} */
  #doing = { kind: "listening" };
  /** @type {string | null} */
  #speaker = null;
  #hurry = () => {};

  /**
   * @param {string} chatId
   * @param {Needs} needs
   * @param {Clock} clock
   * @param {(telling: Telling) => Dialogue} dialogue
   */
  constructor(chatId, needs, clock, dialogue) {
    this.chatId = chatId;
    this.needs = needs;
    this.clock = clock;
    this.dialogue = dialogue({
      clock,
      changed: (doing) => this.does(doing),
      trouble: (trouble) => this.#trouble(trouble),
      moment: (name, turnId) => this.#happened(name, turnId),
    });
    this.moments = new Moments({
      clock,
      tell: (moments) => {
        // A gateway that is gone is told nothing: the next one knows nothing of the call before.
        if (this.callId !== null && this.wire !== null) needs.timeline?.(this.callId, moments);
      },
    });
  }

  /**
   * Open a connection and let the call stand on it.
   * @protected
   * @abstract
   * @returns {Promise<void>}
   */
  open() {
    throw new TypeError(`${this.constructor.name} does not say how it opens.`);
  }

  /**
   * Who speaks in a call that stands, and what the person should know of it.
   * @protected
   * @abstract
   * @param {ClientSecret} _secret
   * @param {Wire} _wire
   * @returns {{ voice: ClientSecret["voice"], note: string | null }}
   */
  shown(_secret, _wire) {
    throw new TypeError(`${this.constructor.name} does not say who speaks in it.`);
  }

  /**
   * Why no other try would do better than this one; null: another may.
   * @protected
   * @param {unknown} _error
   * @returns {string | null}
   */
  refusal(_error) {
    return null;
  }

  /**
   * The call is over, and with it what is said.
   * @protected
   */
  fallSilent() {
    this.dialogue.detach();
  }

  /** The gateway's name for the call. */
  get callId() {
    const id = this.secret?.session["id"];
    return typeof id === "string" ? id : null;
  }

  /** Ask for the microphone, then open the session. */
  async start() {
    this.#show({ kind: "starting", step: "microphone" });
    try {
      if (!(await this.#takeMicrophone())) return;
      this.#show({ kind: "starting", step: "connection" });
      await this.open();
      this.#watchBrowser();
    } catch (error) {
      this.#fail(error instanceof NoMicrophone ? error.problem : unreached(error));
    }
  }

  /** End everything: requests, tracks, the connection. */
  stop() {
    if (this.ended.signal.aborted) return;
    this.moments.flush();
    this.ended.abort();
    this.fallSilent();
    this.wire?.close();
    this.wire = null;
    this.giveBack();
    this.#hurry();
  }

  /** @returns {Levels} */
  levels() {
    return this.wire?.levels() ?? SILENT;
  }

  /** @param {boolean} on */
  mute(on) {
    this.dialogue.mute(on);
  }

  hush() {
    this.dialogue.hush();
  }

  async changeMicrophone() {
    if (!(await this.#takeMicrophone()) || this.microphone === null) return;
    await this.wire?.useMicrophone(this.microphone);
    if (this.#problem?.code === "ended") this.#trouble(null);
  }

  /** @param {string} deviceId */
  async changeSpeaker(deviceId) {
    this.#speaker = deviceId;
    await this.wire?.useSpeaker(deviceId);
  }

  async unblock() {
    await this.wire?.unblock();
    if (this.#problem?.code === "blocked") this.#trouble(null);
  }

  /** Take the microphone that the person chose, and give back the one before; false when the call is over. */
  async #takeMicrophone() {
    const { needs } = this;
    const taken = await (needs.microphone?.() ?? openMicrophone(needs.browser));
    if (this.ended.signal.aborted) {
      release(taken);
      return false;
    }
    release(this.microphone);
    this.microphone = taken;
    for (const track of taken.getAudioTracks()) track.addEventListener("ended", () => void this.#unplugged(taken));
    return true;
  }

  /** @protected */
  giveBack() {
    release(this.microphone);
    this.microphone = null;
  }

  /**
   * The microphone was taken away: the one that is left takes its place.
   * @param {MediaStream} gone
   */
  async #unplugged(gone) {
    if (this.microphone !== gone || this.ended.signal.aborted) return;
    try {
      await this.changeMicrophone();
    } catch {
      this.#trouble(problem("ended"));
    }
  }

  /** The network is back, or the page is looked at again: whatever waits or was suspended goes on at once. */
  #watchBrowser() {
    const on = { signal: this.ended.signal };
    globalThis.addEventListener?.("online", () => this.#hurry(), on);
    const seen = () => {
      this.#hurry();
      void this.wire?.unblock().catch(() => undefined);
    };
    globalThis.document?.addEventListener("visibilitychange", seen, on);
  }

  /**
   * A connection was opened; false when the call is over.
   * @protected
   * @param {ClientSecret} secret
   * @param {Wire} wire
   */
  stands(secret, wire) {
    if (this.ended.signal.aborted) {
      wire.close();
      return false;
    }
    this.secret = secret;
    this.wire = wire;
    if (this.#speaker !== null) void wire.useSpeaker(this.#speaker).catch(() => undefined);
    return true;
  }

  /**
   * What is heard of one connection, `current` for as long as it is the call's or becomes it.
   * @protected
   */
  connection() {
    let over = false;
    return {
      current: () => !over,
      lost: (/** @type {string} */ why, /** @type {boolean} */ mayReturn) => {
        if (over) return;
        over = true;
        void this.#lost(why, mayReturn);
      },
      blocked: () => this.#trouble(problem("blocked")),
    };
  }

  /**
   * Another connection takes the place of this one, at once.
   * @protected
   * @param {Wire} wire
   */
  replace(wire) {
    wire.close();
    void this.#lost("", true, true);
  }

  /**
   * @param {string} why
   * @param {boolean} mayReturn
   * @param {boolean} [atOnce] whether the first try waits for nothing
   */
  async #lost(why, mayReturn, atOnce = false) {
    this.dialogue.detach();
    this.wire = null;
    for (const [place, wait] of WAITS.entries()) {
      if (!mayReturn || this.ended.signal.aborted) break;
      this.#show({ kind: "returning", attempt: place + 1 });
      if (!atOnce || place > 0) await this.#pause(wait);
      if (this.ended.signal.aborted) return;
      try {
        return await this.open();
      } catch (error) {
        const refusal = this.refusal(error);
        if (refusal !== null) return this.#fail({ ...LOST, message: refusal });
        // The next try, or the words below, say it.
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
      const stop = this.clock.after(ms, () => resolve());
      this.#hurry = () => {
        stop();
        resolve();
      };
    });
  }

  /**
   * @protected
   * @param {Doing} doing
   */
  does(doing) {
    // What went wrong before is history once the person speaks again.
    if (doing.kind === "hearing" && this.#doing.kind !== "hearing" && !STAYS.has(this.#problem?.code ?? "")) this.#problem = null;
    this.#doing = doing;
    const { secret, wire } = this;
    if (wire === null || secret === null) return;
    this.#show({ kind: "on", ...this.shown(secret, wire), transport: wire.kind, doing, problem: this.#problem });
  }

  /** @param {Problem | null} trouble */
  #trouble(trouble) {
    this.#problem = trouble;
    this.does(this.#doing);
  }

  /**
   * A problem that is over, and that what comes next shows no more.
   * @protected
   * @param {string} code
   */
  forget(code) {
    if (this.#problem?.code === code) this.#problem = null;
  }

  /**
   * @param {MomentName} name
   * @param {string | null} turnId
   */
  #happened(name, turnId) {
    const moment = { name, at: this.clock.now(), turnId };
    this.needs.moment?.(moment, this.callId ?? "");
    this.moments.add(moment);
  }

  /** @param {Problem} why */
  #fail(why) {
    if (this.ended.signal.aborted) return;
    this.stop();
    this.needs.changed({ kind: "failed", problem: why });
  }

  /** @param {Connection} connection */
  #show(connection) {
    if (!this.ended.signal.aborted) this.needs.changed(connection);
  }
}

/** Problems that last until what they name is done. */
const STAYS = new Set(["blocked", "ended"]);

const LOST = {
  code: "lost",
  message: "The voice connection was lost.",
  remedy: "Press Start to open a new one. Typing works without it.",
};

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
