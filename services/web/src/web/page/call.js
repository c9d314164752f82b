// A call, from Start to Stop: the microphone, a credential, and a connection that comes back by itself. WebRTC is tried
// first; where its sound does not get through, the WebSocket carries the same events.

import { Dialogue } from "./dialogue.js";
import { NoMicrophone, openMicrophone, problem, release } from "./microphone.js";
import { Moments } from "./moments.js";
import { BROWSER, Wires } from "./wires.js";

/** @import { RealtimeSessionCreateRequest } from "openai/resources/realtime/realtime" */
/** @import { ClientSecret } from "./wire" */
/** @import { Problem } from "./microphone.js" */
/** @import { Around } from "./wires.js" */
/** @import { CallControls, CallNeeds, Clock, Connection as Standing, Doing, Levels, MomentName, Speaker, Transport, TransportListener } from "./voice" */

/** @typedef {Standing} Connection */

/** Milliseconds before each try to come back; about a minute in all, in which a gateway starts anew with its models. */
const WAITS = [250, 500, 1000, 2000, 4000, ...Array.from({ length: 10 }, () => 5000)];
const SILENT = { agent: 0, microphone: 0 };

/**
 * One call. `stop` ends it for good; whatever comes later is ignored.
 * @implements {CallControls}
 */
export class Call {
  /** @type {MediaStream | null} */
  #microphone = null;
  /** @type {Transport | null} */
  #transport = null;
  /** @type {ClientSecret | null} */
  #secret = null;
  #ended = new AbortController();
  /** @type {Doing} */
  #doing = { kind: "listening" };
  /** @type {string | null} */
  #note = null;
  /** @type {Problem | null} */
  #problem = null;
  /** @type {string | null} */
  #speaker = null;
  #hurry = () => {};

  /**
   * @param {string} chatId
   * @param {CallNeeds} needs
   * @param {Around} [around]
   */
  constructor(chatId, needs, around = BROWSER) {
    this.chatId = chatId;
    this.needs = needs;
    this.around = around;
    this.dialogue = new Dialogue({
      clock: around.clock,
      changed: (doing) => this.#does(doing),
      trouble: (trouble) => this.#trouble(trouble),
      ask: (question) => needs.ask?.(question),
      said: (said) => needs.said?.(said),
      interrupt: (turnId, heard) => needs.interrupt?.(turnId, heard),
      heard: (turnId, characters) => needs.heard?.(turnId, characters),
      moment: (name, turnId) => this.#happened(name, turnId),
    });
    this.wires = new Wires(
      {
        credential: (signal) => needs.credential(chatId, signal),
        connect: needs.connect,
        listener: () => this.#listener(),
      },
      around,
    );
    this.moments = new Moments({
      clock: around.clock,
      tell: (moments) => {
        // A gateway that is gone is told nothing: the next one knows nothing of the call before.
        if (this.callId !== null && this.#transport !== null) needs.timeline?.(this.callId, moments);
      },
    });
  }

  /** The gateway's name for the call. */
  get callId() {
    const id = this.#secret?.session["id"];
    return typeof id === "string" ? id : null;
  }

  /** Ask for the microphone, then open the session. */
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

  /** End everything: requests, tracks, the connection. */
  stop() {
    if (this.#ended.signal.aborted) return;
    this.moments.flush();
    this.#ended.abort();
    this.dialogue.stop();
    this.#transport?.close();
    this.#transport = null;
    release(this.#microphone);
    this.#microphone = null;
    this.#hurry();
  }

  /** @returns {Speaker} */
  speak() {
    return this.dialogue.speak();
  }

  /** @returns {Levels} */
  levels() {
    return this.#transport?.levels() ?? SILENT;
  }

  /** @param {boolean} on */
  pushToTalk(on) {
    this.dialogue.pushToTalk(on);
  }

  /** @param {boolean} on */
  mute(on) {
    this.dialogue.mute(on);
  }

  press() {
    this.dialogue.button.press();
  }

  release() {
    this.dialogue.button.release();
  }

  retract() {
    this.dialogue.button.retract();
  }

  hush() {
    this.dialogue.hush();
  }

  async changeMicrophone() {
    if (!(await this.#takeMicrophone()) || this.#microphone === null) return;
    await this.#transport?.useMicrophone(this.#microphone);
    if (this.#problem?.code === "ended") this.#trouble(null);
  }

  /** @param {string} deviceId */
  async changeSpeaker(deviceId) {
    this.#speaker = deviceId;
    await this.#transport?.useSpeaker(deviceId);
  }

  async unblock() {
    await this.#transport?.unblock();
    if (this.#problem?.code === "blocked") this.#trouble(null);
  }

  /** Take the microphone that the person chose, and give back the one before; false when the call is over. */
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

  /**
   * The microphone was taken away: the one that is left takes its place.
   * @param {MediaStream} gone
   */
  async #unplugged(gone) {
    if (this.#microphone !== gone || this.#ended.signal.aborted) return;
    try {
      await this.changeMicrophone();
    } catch {
      this.#trouble(problem("ended"));
    }
  }

  /** The network is back, or the page is looked at again: whatever waits or was suspended goes on at once. */
  #watchBrowser() {
    const on = { signal: this.#ended.signal };
    globalThis.addEventListener?.("online", () => this.#hurry(), on);
    const seen = () => {
      this.#hurry();
      void this.#transport?.unblock().catch(() => undefined);
    };
    globalThis.document?.addEventListener("visibilitychange", seen, on);
  }

  async #open() {
    const { signal } = this.#ended;
    const { secret, transport } = await this.wires.open(/** @type {MediaStream} */ (this.#microphone), signal);
    if (signal.aborted) return transport.close();
    this.#stands(secret, transport);
  }

  /** @returns {TransportListener} what is heard of one transport, for as long as it is the call's or becomes it */
  #listener() {
    let over = false;
    return {
      event: (event) => !over && this.dialogue.event(event),
      lost: (why, mayReturn) => {
        if (over) return;
        over = true;
        void this.#lost(why, mayReturn);
      },
      blocked: () => this.#trouble(problem("blocked")),
    };
  }

  /**
   * @param {ClientSecret} secret
   * @param {Transport} transport
   */
  #stands(secret, transport) {
    this.#secret = secret;
    this.#transport = transport;
    this.#note = this.wires.fellBack ? FALLBACK : null;
    if (this.#speaker !== null) void transport.useSpeaker(this.#speaker).catch(() => undefined);
    if (secret.voice === "simulated") {
      // The silent voice proves that the microphone can be had, and gives it back at once.
      release(this.#microphone);
      this.#microphone = null;
      return this.#does({ kind: "silent" });
    }
    this.dialogue.attach(transport, {
      waits: secret.voice !== "openai",
      transcription: secret.voice === "openai" ? transcriptionOf(secret) : null,
    });
  }

  /**
   * @param {string} why
   * @param {boolean} mayReturn
   */
  async #lost(why, mayReturn) {
    this.dialogue.detach();
    this.#transport = null;
    for (const [place, wait] of WAITS.entries()) {
      if (!mayReturn || this.#ended.signal.aborted) break;
      this.#show({ kind: "returning", attempt: place + 1 });
      await this.#pause(wait);
      if (this.#ended.signal.aborted) return;
      try {
        return await this.#open();
      } catch {
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
      const stop = this.around.clock.after(ms, () => resolve());
      this.#hurry = () => {
        stop();
        resolve();
      };
    });
  }

  /** @param {Doing} doing */
  #does(doing) {
    // What went wrong before is history once the person speaks again.
    if (doing.kind === "hearing" && this.#doing.kind !== "hearing" && !STAYS.has(this.#problem?.code ?? "")) this.#problem = null;
    this.#doing = doing;
    if (this.#transport === null || this.#secret === null) return;
    this.#show({
      kind: "on",
      voice: this.#secret.voice,
      transport: this.#transport.kind,
      note: this.#note,
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

const FALLBACK = "Direct sound does not get through here, so the call runs over the WebSocket.";

const LOST = {
  code: "lost",
  message: "The voice connection was lost.",
  remedy: "Press Start to open a new one. Typing works without it.",
};

/**
 * How the session that was opened transcribes.
 * @param {ClientSecret} secret
 */
function transcriptionOf(secret) {
  const session = /** @type {Partial<RealtimeSessionCreateRequest>} */ (secret.session);
  return session.audio?.input?.transcription ?? null;
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
