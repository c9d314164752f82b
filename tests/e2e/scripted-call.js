// A call in the place of call.js whose every step a test takes, with the microphone that the page opens for it.

export class Call {
  constructor(chatId, needs) {
    Object.assign(this, { chatId, needs, told: [], turns: [], level: { agent: 0, microphone: 0 } });
    window.call = this;
  }

  async start() {
    this.needs.changed({ kind: "starting", step: "microphone" });
    try {
      this.stream = await this.needs.microphone();
    } catch (error) {
      return this.needs.changed({ kind: "failed", problem: error.problem });
    }
    this.on({ kind: "listening" });
  }

  on(doing, more = {}) {
    this.needs.changed({ kind: "on", voice: "local", transport: "webrtc", note: null, problem: null, doing, ...more });
  }

  /** A sentence of the newest answer is being said. */
  says(index, heard = 0) {
    const turn = this.turns.at(-1);
    const [start, end] = turn.sentences[index].span;
    const text = [...turn.text].slice(start, end).join("").replace(/\s*\[\d+\]/g, "");
    this.on({ kind: "speaking", turnId: turn.turnId, text, span: [start, end], heard: start + heard });
  }

  happens(name, at, turnId = null) {
    this.needs.moment({ name, at, turnId }, "sess_1");
  }

  speak() {
    const place = this.turns.push(null) - 1;
    this.told.push("speak");
    return { changed: (turn) => (this.turns[place] = turn) };
  }

  stop() {
    this.told.push("stop");
    for (const track of this.stream?.getTracks() ?? []) track.stop();
  }

  async changeMicrophone() {
    this.told.push("changeMicrophone");
    this.stream = await this.needs.microphone();
  }

  levels() {
    return this.level;
  }

  pushToTalk(on) {
    this.told.push(`pushToTalk ${on}`);
  }

  mute(on) {
    this.told.push(`mute ${on}`);
  }

  async changeSpeaker(id) {
    this.told.push(`changeSpeaker ${id}`);
  }

  press() {
    this.told.push("press");
  }

  release() {
    this.told.push("release");
  }

  retract() {
    this.told.push("retract");
  }

  hush() {
    this.told.push("hush");
  }

  async unblock() {
    this.told.push("unblock");
  }
}
