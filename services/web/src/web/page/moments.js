// What happened in a call, told to the gateway in batches: it joins the traces of the turns it belongs to.

/** @import { Clock, Moment } from "./voice" */

/** How long moments are gathered, in milliseconds. */
const GATHERED = 2000;
/** What is said before its turn has a name waits for the name, so many times at most. */
const PATIENCE = 5;

/**
 * @typedef {object} MomentsNeeds
 * @property {Clock} clock
 * @property {(moments: Moment[]) => void} tell
 */

export class Moments {
  /** @type {Moment[]} */
  #gathered = [];
  #waited = 0;
  #stop = () => {};
  #due = false;

  /** @param {MomentsNeeds} needs */
  constructor(needs) {
    this.needs = needs;
  }

  /** @param {Moment} moment */
  add(moment) {
    if (moment.name === "first_delta" && moment.turnId !== null) {
      // A turn gets its name once the question is asked; the speech that asked it is a part of it.
      const { turnId } = moment;
      this.#gathered = this.#gathered.map((one) => (one.turnId === null ? { ...one, turnId } : one));
    }
    this.#gathered.push(moment);
    this.#later();
  }

  /** Tell what there is. */
  flush() {
    this.#stop();
    this.#due = false;
    this.#waited = 0;
    const moments = this.#gathered;
    this.#gathered = [];
    if (moments.length > 0) this.needs.tell(moments);
  }

  #later() {
    if (this.#due) return;
    this.#due = true;
    this.#stop = this.needs.clock.after(GATHERED, () => {
      this.#due = false;
      this.#waited += 1;
      if (this.#waited < PATIENCE && this.#gathered.some(({ turnId }) => turnId === null)) this.#later();
      else this.flush();
    });
  }
}
