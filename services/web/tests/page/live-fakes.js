// A session that the server holds, in a test's hand: what the page sends is noted, and what it hears is told.

import { FakeClock } from "./call-fakes.js";

export class FakeLive {
  kind = "server";
  sent = [];
  heard = [];
  held = false;
  open = null;
  closed = false;

  constructor(ready = {}) {
    this.ready = { type: "ready", agent: "concierge", orchestrator: "cascade", ...ready };
  }

  send(message) {
    this.sent.push(message);
  }

  hold(held) {
    this.held = held;
  }

  silence() {
    this.heard.push("silence");
  }

  listen(open) {
    this.open = open;
  }

  useMicrophone = async () => undefined;
  useSpeaker = async () => undefined;
  unblock = async () => undefined;
  levels = () => ({ agent: 0.5, microphone: 0.25 });

  close() {
    this.closed = true;
  }

  of(type) {
    return this.sent.filter((message) => message.type === type);
  }
}

/** A turn of the conversation that notes what it is told; `answer` is what its frames hold. */
export class FakeTurn {
  told = [];
  turnId = null;
  text = "";

  constructor(question) {
    this.question = question;
  }

  asked(question) {
    this.question = question;
  }

  known(turnId) {
    this.turnId = turnId;
  }

  traced(traceId) {
    this.traceId = traceId;
  }

  said(text) {
    if (this.turnId === null) this.text += text;
  }

  ended(how) {
    this.told.push(how);
  }
}

export { FakeClock };
