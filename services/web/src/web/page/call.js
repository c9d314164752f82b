// A call, from Start to Stop, that the page holds: it asks the questions, and has the answers spoken. WebRTC is tried
// first; where its sound does not get through, the WebSocket carries the same events.

import { Dialogue } from "./dialogue.js";
import { StandingCall } from "./standing-call.js";
import { BROWSER, Wires } from "./wires.js";

/** @import { RealtimeSessionCreateRequest } from "openai/resources/realtime/realtime" */
/** @import { ClientSecret } from "./wire" */
/** @import { Around } from "./wires.js" */
/** @import { CallControls, CallNeeds, Connection as Standing, Speaker, Transport, TransportListener } from "./voice" */

/** @typedef {Standing} Connection */

/**
 * @extends {StandingCall<Transport, Dialogue, CallNeeds>}
 * @implements {CallControls}
 */
export class Call extends StandingCall {
  /**
   * @param {string} chatId
   * @param {CallNeeds} needs
   * @param {Around} [around]
   */
  constructor(chatId, needs, around = BROWSER) {
    const dialogue = (/** @type {import("./standing-call.js").Telling} */ telling) =>
      new Dialogue({
        ...telling,
        ask: (question) => needs.ask?.(question),
        said: (said) => needs.said?.(said),
        interrupt: (turnId, heard) => needs.interrupt?.(turnId, heard),
        heard: (turnId, characters) => needs.heard?.(turnId, characters),
      });
    super(chatId, needs, around.clock, dialogue);
    this.wires = new Wires(
      {
        credential: (signal) => needs.credential(chatId, signal),
        connect: needs.connect,
        listener: () => this.#listener(),
      },
      around,
    );
  }

  /** @returns {Speaker} */
  speak() {
    return this.dialogue.speak();
  }

  /** @param {boolean} on */
  pushToTalk(on) {
    this.dialogue.pushToTalk(on);
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

  /** @protected @override */
  async open() {
    const { secret, transport } = await this.wires.open(/** @type {MediaStream} */ (this.microphone), this.ended.signal);
    if (!this.stands(secret, transport)) return;
    if (secret.voice === "simulated") {
      // The silent voice proves that the microphone can be had, and gives it back at once.
      this.giveBack();
      return this.does({ kind: "silent" });
    }
    this.dialogue.attach(transport, {
      waits: secret.voice !== "openai",
      transcription: secret.voice === "openai" ? transcriptionOf(secret) : null,
    });
  }

  /** @returns {TransportListener} */
  #listener() {
    const { current, lost, blocked } = this.connection();
    return { event: (event) => current() && this.dialogue.event(event), lost, blocked };
  }

  /**
   * @protected
   * @override
   * @param {ClientSecret} secret
   */
  shown({ voice }) {
    return { voice, note: this.wires.fellBack ? FALLBACK : null };
  }

  /** @protected @override */
  fallSilent() {
    this.dialogue.stop();
  }
}

const FALLBACK = "Direct sound does not get through here, so the call runs over the WebSocket.";

/**
 * How the session that was opened transcribes.
 * @param {ClientSecret} secret
 */
function transcriptionOf(secret) {
  const session = /** @type {Partial<RealtimeSessionCreateRequest>} */ (secret.session);
  return session.audio?.input?.transcription ?? null;
}
