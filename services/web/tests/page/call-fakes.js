// A clock that moves by hand, and a session that does what the gateway does with speech: one phrase plays in its own
// time, stands still while the person speaks, and stops where it is told to.

export class FakeClock {
  #now = 1_000_000;
  #timers = [];
  now = () => this.#now;
  after = (ms, what) => {
    const timer = { at: this.#now + ms, what };
    this.#timers.push(timer);
    return () => this.#timers.splice(0, this.#timers.length, ...this.#timers.filter((one) => one !== timer));
  };

  /** Let so many milliseconds pass, and do what falls due. */
  pass(ms) {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.splice(this.#timers.indexOf(next), 1);
      this.#now = next.at;
      next.what();
    }
    this.#now = end;
  }
}

export class FakeSession {
  sent = [];
  /** What comes to the person's ear, in order: "+text" begins, "-text" ends, "/text" is cut. */
  aloud = [];
  #responses = 0;
  #items = 0;
  #playing = null;
  #waiting = [];

  /**
   * @param {(event: object) => void} tell
   * @param {{ silentIds?: boolean }} how `silentIds`: `created` waits until it is asked for
   */
  constructor(tell, { silentIds = false } = {}) {
    this.tell = tell;
    this.silentIds = silentIds;
    this.held = false;
    this.unnamed = [];
  }

  /** A transport of this session, as the page's dialogue needs one. */
  get transport() {
    return {
      kind: "webrtc",
      send: (event) => this.receive(event),
      hold: (held) => (this.held = held),
      clear: () => undefined,
      played: () => null,
      received: () => null,
      listen: (open) => (this.open = open),
      useMicrophone: async () => undefined,
      useSpeaker: async () => undefined,
      unblock: async () => undefined,
      levels: () => ({ agent: 0, microphone: 0 }),
      close: () => (this.closed = true),
    };
  }

  receive(event) {
    this.sent.push(event);
    if (event.type === "response.create") this.#create(event);
    if (event.type === "response.cancel") this.#cancel(event);
    if (event.type === "output_audio_buffer.clear") this.#clear();
    if (event.type === "input_audio_buffer.clear") this.tell({ type: "input_audio_buffer.cleared" });
  }

  /** Phrases that are made or played, the one that plays last. */
  get live() {
    return [...this.#waiting, ...(this.#playing === null ? [] : [this.#playing])];
  }

  get playing() {
    return this.#playing;
  }

  of(type) {
    return this.sent.filter((event) => event.type === type);
  }

  #create({ response }) {
    this.#responses += 1;
    const made = { id: `resp_${this.#responses}`, metadata: response.metadata, text: response.input[0].content[0].text };
    if (this.silentIds) this.unnamed.push(made);
    else this.name(made);
  }

  /** `response.created`, and the sound waits its turn. */
  name(made = this.unnamed.shift()) {
    if (made === undefined) return;
    this.#waiting.push(made);
    this.tell({ type: "response.created", response: { id: made.id, metadata: made.metadata, status: "in_progress" } });
  }

  #cancel({ response_id: id }) {
    if (!this.#waiting.some((made) => made.id === id) && this.#playing?.id !== id) {
      const error = { type: "invalid_request_error", code: "response_cancel_not_active", message: "No.", event_id: `cancel:${id}` };
      return this.tell({ type: "error", error });
    }
    this.#waiting = this.#waiting.filter((made) => made.id !== id);
    this.tell({ type: "response.done", response: { id, status: "cancelled" } });
  }

  #clear() {
    const playing = this.#playing;
    this.#playing = null;
    if (playing === null) return;
    this.aloud.push(`/${playing.text}`);
    this.tell({ type: "output_audio_buffer.cleared", response_id: playing.id });
  }

  /** Make the next response's sound, and begin to play it. */
  begin() {
    const made = this.#waiting.shift();
    if (made === undefined) return;
    this.#playing = made;
    this.aloud.push(`+${made.text}`);
    this.tell({ type: "output_audio_buffer.started", response_id: made.id });
    this.tell({ type: "response.done", response: { id: made.id, status: "completed" } });
  }

  /** It was played to its end. */
  end() {
    if (this.#playing === null) return;
    const { id, text } = this.#playing;
    this.#playing = null;
    this.aloud.push(`-${text}`);
    this.tell({ type: "output_audio_buffer.stopped", response_id: id });
  }

  speechStarted() {
    this.#items += 1;
    this.tell({ type: "input_audio_buffer.speech_started", item_id: `item_${this.#items}`, audio_start_ms: 0 });
  }

  speechStopped() {
    this.tell({ type: "input_audio_buffer.speech_stopped", item_id: `item_${this.#items}`, audio_end_ms: 0 });
  }

  commit() {
    this.tell({ type: "input_audio_buffer.committed", item_id: `item_${this.#items}` });
    return `item_${this.#items}`;
  }

  transcript(text, itemId = `item_${this.#items}`) {
    this.tell({ type: "conversation.item.input_audio_transcription.completed", item_id: itemId, transcript: text });
  }

  /** A whole utterance. */
  says(text) {
    this.speechStarted();
    this.speechStopped();
    this.commit();
    this.transcript(text);
  }
}
