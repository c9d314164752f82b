// A call keeps a phone from locking, and a tab says that it is in one.

/** @typedef {{ release(): Promise<void> }} Lock */

export class Awake {
  #wanted = false;
  /** @type {Lock | null} */
  #lock = null;

  constructor() {
    // The browser takes the lock back whenever the page is hidden.
    document.addEventListener("visibilitychange", () => {
      this.#lock = null;
      void this.#take();
    });
  }

  /** @param {boolean} calling */
  during(calling) {
    if (calling === this.#wanted) return;
    this.#wanted = calling;
    document.title = calling ? "In a call · Talkdown" : "Talkdown";
    if (calling) return void this.#take();
    void this.#lock?.release().catch(() => undefined);
    this.#lock = null;
  }

  async #take() {
    if (!this.#wanted || document.hidden || this.#lock !== null || !("wakeLock" in navigator)) return;
    try {
      const lock = await navigator.wakeLock.request("screen");
      if (this.#wanted) this.#lock = lock;
      else await lock.release();
    } catch {
      // Saving power, or not allowed: the screen may go dark, and the call goes on as long as the system lets it.
    }
  }
}
