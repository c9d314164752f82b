// The stock client in a page without anything else: a microphone that a test plays into, and what came of it.

const { RealtimeAgent, RealtimeSession, OpenAIRealtimeWebRTC, OpenAIRealtimeWebSocket } = OpenAIAgentsRealtime;
const FRAME = 50;
const LOUD = 0.01;

/** What a test does with the stock client, and what came of it. */
globalThis.stock = {
  heard: "",
  said: "",
  cleared: 0,
  answers: 0,
  errors: [],
  loud: 0,

  async connect(kind) {
    this.context = new AudioContext({ sampleRate: 24000 });
    await this.context.resume();
    this.microphone = this.context.createMediaStreamDestination();
    const secret = await this.credential();
    const agent = new RealtimeAgent({ name: "Talkdown", instructions: "Answer from the notes." });
    const transport = kind === "webrtc" ? this.overWebRtc() : this.overWebSocket();
    this.session = new RealtimeSession(agent, { transport, model: "talkdown" });
    this.session.on("error", ({ error }) => this.errors.push(JSON.stringify(error)));
    this.session.on("transport_event", ({ type, delta }) => {
      if (type === "response.output_audio_transcript.delta") this.said += delta;
      this.answers += type === "response.done";
      this.cleared += type === "output_audio_buffer.cleared";
    });
    this.session.on("history_updated", (history) => this.show(history));
    await this.session.connect({ apiKey: secret.value });
  },

  async credential() {
    const headers = { "content-type": "application/json" };
    const answer = await fetch("/v1/realtime/client_secrets", { method: "POST", headers, body: "{}" });
    return answer.json();
  },

  overWebRtc() {
    const audio = document.body.appendChild(document.createElement("audio"));
    const meter = this.context.createAnalyser();
    audio.addEventListener("playing", () => this.context.createMediaStreamSource(audio.srcObject).connect(meter));
    const samples = new Float32Array(meter.fftSize);
    setInterval(() => {
      meter.getFloatTimeDomainData(samples);
      if (Math.max(...samples) > LOUD) this.loud += FRAME / 1000;
    }, FRAME);
    const baseUrl = `${location.origin}/v1/realtime/calls`;
    return new OpenAIRealtimeWebRTC({ baseUrl, audioElement: audio, mediaStream: this.microphone.stream });
  },

  overWebSocket() {
    const url = `${location.origin.replace("http", "ws")}/v1/realtime?model=talkdown`;
    const transport = new OpenAIRealtimeWebSocket({ url, useInsecureApiKey: true });
    transport.on("audio", ({ data }) => (this.loud += data.byteLength / 48000));
    return transport;
  },

  /** Play a tone into the microphone. */
  async speak(seconds) {
    if (this.session.transport instanceof OpenAIRealtimeWebSocket) return this.send(seconds);
    const tone = new OscillatorNode(this.context, { frequency: 300 });
    tone.connect(this.microphone);
    tone.start();
    tone.stop(this.context.currentTime + seconds);
  },

  /** The same as PCM, a tenth of a second at a time, and then silence. */
  async send(seconds) {
    for (let tenth = 0; tenth < (seconds + 1) * 10; tenth += 1) {
      const loud = tenth < seconds * 10 ? 8000 : 0;
      const pcm = Int16Array.from({ length: 2400 }, (_, at) => loud * Math.sin((2 * Math.PI * 300 * at) / 24000));
      this.session.sendAudio(pcm.buffer);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  },

  show(history) {
    const asked = history.filter((item) => item.role === "user");
    this.heard = asked.flatMap((item) => item.content.map((part) => part.transcript ?? part.text ?? "")).join("\n");
  },

  close() {
    this.session.close();
  },
};
