// Push to talk: the session is told by hand where an utterance begins and ends (L9).

import { commit, forget } from "./events.js";

/** @import { Clock, Transport } from "./voice" */

/** Sound that is still on its way when the button is let go, in milliseconds. */
const TAIL = 200;

/**
 * @typedef {object} ButtonNeeds
 * @property {Clock} clock
 * @property {() => Transport | null} transport
 * @property {() => void} began
 * @property {() => void} ended
 * @property {() => void} retracted
 */

export class TalkButton {
  /** Whether the person talks by hand, and not into an open microphone. */
  byHand = false;
  /** Whether the open microphone is shut for a while. */
  muted = false;
  #pressed = false;
  #stopTail = () => {};
  /** Clears that were sent from here: their answers say nothing of what the person said. */
  #clears = 0;

  /** @param {ButtonNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** Whether the session hears the microphone now. */
  get open() {
    return this.byHand ? this.#pressed : !this.muted;
  }

  press() {
    const transport = this.needs.transport();
    if (!this.byHand || this.#pressed || transport === null) return;
    this.#stopTail();
    this.#pressed = true;
    this.#forget(transport);
    transport.listen(true);
    this.needs.began();
  }

  release() {
    if (!this.#pressed) return;
    this.#pressed = false;
    this.#stopTail = this.needs.clock.after(TAIL, () => {
      const transport = this.needs.transport();
      transport?.listen(this.open);
      transport?.send(commit());
      this.needs.ended();
    });
  }

  retract() {
    if (!this.#pressed) return;
    this.#pressed = false;
    const transport = this.needs.transport();
    transport?.listen(this.open);
    if (transport !== null) this.#forget(transport);
    this.needs.retracted();
  }

  /** Another connection, or none: nothing of the old one is pending. */
  reset() {
    this.#stopTail();
    this.#pressed = false;
    this.#clears = 0;
  }

  /** The session forgot what it had heard; whether that was asked for here. */
  cleared() {
    if (this.#clears === 0) return false;
    this.#clears -= 1;
    return true;
  }

  /** @param {Transport} transport */
  #forget(transport) {
    this.#clears += 1;
    transport.send(forget());
  }
}
