// The call as the page has it: opened and ended by one button, heard, seen, and told what the person does.

import { Awake } from "./awake.js";
import { Call } from "./call.js";
import { CallPanel } from "./call-panel.js";
import { goneLine, keysLine } from "./call-words.js";
import { uuid, web } from "./client.js";
import { Controls } from "./controls.js";
import { byId, fill } from "./dom.js";
import { LiveCall } from "./live-call.js";
import { problem } from "./microphone.js";
import { Silence } from "./silence.js";
import { Through } from "./through.js";
import { VoiceSettings } from "./voice-settings.js";
import { startLine } from "./words.js";

/** @import { CallNeeds, Connection, Doing, Levels, Moment, Speaker } from "./voice" */
/** @import { ToldTurn } from "./live" */
/** @import { Problem } from "./microphone.js" */
/** @import { Stage } from "./frames.js" */

/**
 * @typedef {object} CallingNeeds
 * @property {(chatId: string) => void} stands a call for this chat stands, perhaps again
 * @property {(question: string) => void} ask
 * @property {(moment: Moment) => void} happened
 * @property {(turnId: string, heard: number) => void} heard speech broke an answer off here, in code points
 * @property {(question: string, chatId: string, byModel: boolean) => ToldTurn} told a turn that the server holds begins
 * @property {(agent: string, previous: string) => void} changedHands
 * @property {() => void} ended the person ended the call that stood
 * @property {() => void} changed
 */

/** What a person can press against a problem. @type {Record<string, string>} */
const REMEDIES = { blocked: "Turn the voice on", muted: "Choose another", silent: "Choose another" };

const RESCUED = "Other ways for the sound are blocked here, so the call runs through the server.";

export class Calling {
  /** @type {Connection} */
  connection = { kind: "off" };
  /**
   * The voice that the services have; null while it is not known.
   * @type {string | null}
   */
  voice = null;
  /** Whether the voice is there to be called. */
  ready = true;
  /**
   * The call that opens or stands. The chat it opens for is begun once it stands.
   * @type {Call | LiveCall | null}
   */
  #call = null;
  /** Who has the floor, where the server holds the call. @type {string | null} */
  #agent = null;
  /** Whether the call that opened, or stands, has a voice. */
  #voiced = false;
  #said = "";
  /**
   * What is wrong with the microphone while the call stands.
   * @type {Problem | null}
   */
  #trouble = null;
  /** Words that stay for a while. */
  #passing = { note: "", aside: "" };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #passed;
  #silence = new Silence();
  #awake = new Awake();

  /** @param {CallingNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    this.controls = new Controls({ call: () => (this.speaks ? this.#call : null), changed: needs.changed });
    this.settings = new VoiceSettings({
      level: () => this.#levels()?.microphone ?? null,
      talk: () => this.controls.talk,
      choose: (mode) => this.controls.choose(mode),
      microphoneChanged: () => void this.#otherMicrophone(),
      speakerChanged: (id) => void this.#call?.changeSpeaker(id).catch(() => undefined),
      gone: (gone, next) => this.#pass({ note: goneLine(gone, next) }),
    });
    this.through = new Through(web.liveOffer, needs.changed);
    byId("voice-toggle").addEventListener("click", () => void this.through.look());
    this.panel = new CallPanel(
      () => this.#levels(),
      (levels, now) => this.#listen(levels, now),
    );
    byId("call").addEventListener("click", () => {
      if (this.connection.kind === "starting") this.hangUp();
      else if (this.on) needs.ended();
      else this.start();
    });
    byId("call-remedy").addEventListener("click", () => {
      if (this.#problem?.code === "blocked") void this.#call?.unblock();
      else this.settings.open();
    });
    addEventListener("pagehide", () => this.#call?.stop());
  }

  /** Whether a call stands, or is coming back. */
  get on() {
    return this.connection.kind === "on" || this.connection.kind === "returning";
  }

  /** Whether a call stands, or is coming back, that has a voice. */
  get speaks() {
    return this.doing === null ? this.connection.kind === "returning" && this.#voiced : this.doing.kind !== "silent";
  }

  /** @returns {Doing | null} */
  get doing() {
    return this.connection.kind === "on" ? this.connection.doing : null;
  }

  /** The chat of the call that opens or stands. */
  get chatId() {
    return this.#call?.chatId;
  }

  /** @returns {Speaker | null} */
  speaker() {
    return this.speaks ? (this.#call?.speak() ?? null) : null;
  }

  /**
   * Open a call. The conversation stays as it is until the call stands, which begins its fresh chat.
   * @param {string | null} rescue why the server is to hold it, where it is not the person's choice
   */
  start(rescue = null) {
    this.hangUp();
    const opening = rescue !== null || this.through.chosen ? this.#served(rescue) : this.#direct();
    opening.pushToTalk(this.controls.talk.mode === "hold");
    this.#call = opening;
    void opening.start();
    // With a voice the keys of the call work at once, and a phone shows no keyboard; without one the question is typed.
    const silent = (this.voice === "simulated" || this.voice === null) && opening instanceof Call;
    byId(silent ? "question" : "presence").focus({ preventScroll: true });
  }

  /** A call in which the page asks and speaks. */
  #direct() {
    /** @type {Call} */
    const call = new Call(uuid(), {
      ...this.#needs(() => call),
      credential: web.credential,
      ask: (question) => this.#call === call && this.needs.ask(question),
      said: ({ text, question }) => {
        if (question) this.#said = text;
        else this.#pass({ aside: text });
        this.needs.changed();
      },
      interrupt: (turnId, heard) => {
        this.needs.heard(turnId, heard);
        void web.interrupt(turnId, heard).catch(() => undefined);
      },
      heard: (turnId, characters) => void web.heard(turnId, characters).catch(() => undefined),
    });
    return call;
  }

  /**
   * A call that the server holds.
   * @param {string | null} note
   */
  #served(note) {
    /** @type {LiveCall} */
    const call = new LiveCall(uuid(), {
      ...this.#needs(() => call),
      credential: (chatId, signal) => web.credential(chatId, signal, true),
      orchestrator: this.through.orchestrator,
      note,
      asked: (question) => {
        this.#said = question;
        return this.needs.told(question, call.chatId, call.byModel);
      },
      interrupted: ({ turnId }, heard) => turnId !== null && this.needs.heard(turnId, heard),
      agent: (agent, previous) => {
        this.#agent = agent;
        if (previous !== null) this.needs.changedHands(agent, previous);
        this.needs.changed();
      },
    });
    return call;
  }

  /**
   * @param {() => Call | LiveCall} which
   * @returns {Omit<CallNeeds, "credential">}
   */
  #needs(which) {
    return {
      browser: { isSecureContext, mediaDevices: navigator.mediaDevices },
      microphone: () => this.#microphone(),
      connect: (url, protocols) => new WebSocket(url, protocols),
      changed: (now) => this.#call === which() && this.#changed(which(), now),
      moment: (moment) => this.#call === which() && this.needs.happened(moment),
      timeline: (callId, moments) => void web.timeline(callId, moments).catch(() => undefined),
    };
  }

  /**
   * Ask what was typed in the call, where the server holds it; whether it was asked.
   * @param {string} question
   */
  ask(question) {
    return this.#call instanceof LiveCall && this.speaks && this.#call.ask(question);
  }

  /** End the call, or the attempt at one; the conversation stays. */
  hangUp() {
    this.#call?.stop();
    this.#call = null;
    this.connection = { kind: "off" };
    this.#agent = null;
    this.#trouble = null;
    this.#pass({});
    fill(byId("question-problem"));
    this.needs.changed();
  }

  /** Let Escape end what is nearest to it; whether there was anything. */
  back() {
    if (this.settings.close() || this.controls.retract()) return true;
    if (this.doing?.kind !== "speaking") return false;
    this.#call?.hush();
    return true;
  }

  /**
   * @param {Stage | null} stage of the turn that runs
   * @param {boolean} lost
   */
  show(stage, lost) {
    const calling = this.on || this.connection.kind === "starting";
    const button = byId("call");
    fill(button, calling ? "Stop" : "Start");
    /** @type {HTMLButtonElement} */ (button).disabled = !calling && !this.ready;
    button.classList.toggle("quiet", !calling && this.voice === "simulated");
    button.classList.toggle("voiced", !calling && this.voice !== "simulated" && this.voice !== null);
    for (const name of ["aria-label", "title"]) {
      if (calling || this.voice === null) button.removeAttribute(name);
      else button.setAttribute(name, startLine(this.voice));
    }
    byId("voice-toggle").hidden = !this.speaks && !this.through.offered && (this.voice === null || this.voice === "simulated");
    document.body.classList.toggle("served", this.#call instanceof LiveCall);
    document.body.classList.toggle("leaving", this.#call instanceof LiveCall && this.#call.leaves);
    const agent = this.speaks && this.through.severalWith(this.#agent) ? this.#agent : null;
    byId("agent").hidden = agent === null;
    fill(byId("agent"), agent && `With ${agent}`);
    this.controls.show();
    this.#awake.during(this.speaks);
    fill(byId("question-help"), keysLine(this.speaks ? this.controls.talk : null));
    const wrong = this.#problem;
    const words = wrong !== null ? `${wrong.message} ${wrong.remedy}` : this.#passing.note || (this.connection.kind === "on" && this.connection.note) || "";
    this.panel.show({
      stage,
      connection: this.connection,
      speaks: this.speaks,
      waking: !this.ready,
      lost,
      talk: this.controls.talk,
      said: this.#said,
      aside: this.#passing.aside,
      note: words === "" ? null : { words, remedy: (wrong && REMEDIES[wrong.code]) ?? null },
    });
  }

  /** What is wrong though the call stands. */
  get #problem() {
    return this.connection.kind === "on" ? (this.connection.problem ?? this.#trouble) : null;
  }

  #levels() {
    return this.speaks ? (this.#call?.levels() ?? null) : null;
  }

  /**
   * @param {Call | LiveCall} call
   * @param {Connection} now
   */
  #changed(call, now) {
    const stood = this.speaks;
    const blocked = now.kind === "failed" && now.problem.code === "voice" && call instanceof Call && call.wires.blocked;
    if (blocked && this.through.offered) return this.start(RESCUED);
    if (now.kind === "on") this.needs.stands(call.chatId);
    if (now.kind === "failed") this.#call = null;
    if (now.kind !== "starting") fill(byId("question-problem"));
    this.connection = now;
    if (now.kind === "on") this.#voiced = now.voice !== "simulated";
    if (this.speaks && !stood) {
      this.controls.begin();
      if (this.settings.speaker !== "") void call.changeSpeaker(this.settings.speaker).catch(() => undefined);
    }
    this.needs.changed();
  }

  async #microphone() {
    const stream = await this.settings.microphone();
    this.#silence.begin();
    this.#trouble = null;
    for (const track of stream.getAudioTracks()) {
      track.addEventListener("mute", () => this.#doubt(problem("muted")));
      track.addEventListener("unmute", () => this.#doubt(null));
    }
    return stream;
  }

  async #otherMicrophone() {
    try {
      await this.#call?.changeMicrophone();
    } catch {
      this.#doubt(problem("ended"));
    }
  }

  /** @param {Problem | null} trouble */
  #doubt(trouble) {
    if (this.#trouble?.code === trouble?.code) return;
    this.#trouble = trouble;
    this.needs.changed();
  }

  /**
   * @param {Levels} levels
   * @param {number} now
   */
  #listen(levels, now) {
    const { mode, muted, held } = this.controls.talk;
    // While an answer is on its way or said, nobody is expected to speak.
    const open = (mode === "hold" ? held : !muted) && (held || this.doing?.kind === "listening");
    if (this.#silence.hear(levels.microphone, open, now)) this.#doubt(problem("silent"));
    else if (this.#trouble?.code === "silent" && (levels.microphone > 0 || !open)) this.#doubt(null);
  }

  /** @param {Partial<{ note: string, aside: string }>} words that stay for a while */
  #pass(words) {
    clearTimeout(this.#passed);
    this.#passing = { note: "", aside: "", ...words };
    if (words.note || words.aside) this.#passed = setTimeout(() => this.#pass({}), words.note ? 10_000 : 4000);
    this.needs.changed();
  }
}
