// Taps a call for tests and benchmarks, before the page's own scripts run: what its microphone gives and what its
// loudspeaker plays are recorded side by side on one clock, with every event that passes and when.
//
//   microphone (real, or played on cue) ──┬──> the page
//                                         └──> left  ┐
//   what the page plays, as loud as it is ───> right ┴ worklet ──> tap.pieces
//
// `TAP_WORKLET` and `TAP_CUE` are replaced: the text of tap-worklet.js, and whether a stream that `tap.play(name)` plays
// into takes the microphone's place.
(() => {
  const RAW = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const cue = TAP_CUE;
  const tap = {
    /** When the recording begins, on its clock. @type {number | null} */ began: null,
    /** @type {Int16Array[]} */ pieces: [],
    /** @type {{ from: "page" | "gateway", type: string, at: number, event: any }[]} */ events: [],
    /** @type {{ what: string, at: number }[]} */ notes: [],
    /** @type {string[]} */ tracks: [],
    /** @type {RTCPeerConnection[]} */ peers: [],
    /** @type {WebSocket[]} */ sockets: [],
    play,
    read,
    now,
  };
  window.tap = tap;

  /** @type {Promise<{ context: AudioContext, left: GainNode, right: GainNode, stream: MediaStream, voice: GainNode }> | null} */
  let opened = null;
  /** @type {AudioContext | null} */
  let clock = null;

  function open() {
    opened ??= (async () => {
      const context = new OwnContext({ sampleRate: 48000, latencyHint: "interactive" });
      await context.audioWorklet.addModule(URL.createObjectURL(new Blob([TAP_WORKLET], { type: "text/javascript" })));
      const node = new AudioWorkletNode(context, "tap", { numberOfInputs: 2, outputChannelCount: [1] });
      node.port.onmessage = ({ data }) => {
        tap.began ??= data.began;
        tap.pieces.push(data.piece);
      };
      const gain = () => new GainNode(context, { channelCount: 1, channelCountMode: "explicit" });
      const [left, right, voice] = [gain(), gain(), gain()];
      left.connect(node, 0, 0);
      right.connect(node, 0, 1);
      realConnect.call(node, context.destination);
      const microphone = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
      voice.connect(microphone);
      // A source that never ends, or the page's encoder would stop when nobody speaks.
      const nothing = new ConstantSourceNode(context, { offset: 0 });
      nothing.connect(microphone);
      nothing.start();
      clock = context;
      await context.resume();
      return { context, left, right, stream: microphone.stream, voice };
    })();
    return opened;
  }

  /** Seconds of the recording's clock. */
  function now() {
    return clock?.currentTime ?? 0;
  }

  /**
   * Speak into the page's microphone: a sound of the test's, by name, `after` seconds from now.
   * @returns {Promise<number>} when it begins, on the recording's clock
   */
  async function play(name, after = 0.05) {
    const { context, left, voice } = await open();
    const answer = await fetch(`/tap/${name}.wav`);
    const source = new AudioBufferSourceNode(context, { buffer: await context.decodeAudioData(await answer.arrayBuffer()) });
    source.connect(voice);
    source.connect(left);
    const at = context.currentTime + after;
    source.start(at);
    return at;
  }

  /** Everything recorded since the last reading: 16 bits, two channels, 48 kHz, as base64. */
  async function read() {
    const pieces = tap.pieces.splice(0);
    const blob = new Blob(pieces);
    return await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
      reader.readAsDataURL(blob);
    });
  }

  const OwnContext = window.AudioContext;
  const realConnect = AudioNode.prototype.connect;
  const getUserMedia = navigator.mediaDevices?.getUserMedia.bind(navigator.mediaDevices);
  if (navigator.mediaDevices) {
    navigator.mediaDevices.getUserMedia = async (wanted) => {
      const { context, left, stream } = await open();
      // A recording needs no repair: what is made against rooms and loudspeakers takes syllables from it.
      const raw = { ...(typeof wanted.audio === "object" && wanted.audio), ...RAW };
      const given = cue
        ? new MediaStream(stream.getTracks().map((track) => track.clone()))
        : await getUserMedia({ ...wanted, audio: raw });
      if (!cue) new MediaStreamAudioSourceNode(context, { mediaStream: given.clone() }).connect(left);
      return given;
    };
  }

  // What an audio element plays, as loud as it plays it.
  const heard = new WeakMap();
  const srcObject = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "srcObject");
  Object.defineProperty(HTMLMediaElement.prototype, "srcObject", {
    ...srcObject,
    set(stream) {
      srcObject.set.call(this, stream);
      if (stream instanceof MediaStream) void listen(this, stream);
    },
  });

  async function listen(element, stream) {
    const { context, right } = await open();
    const gain = new GainNode(context, { gain: 0 });
    heard.get(element)?.disconnect();
    heard.set(element, gain);
    new MediaStreamAudioSourceNode(context, { mediaStream: stream }).connect(gain);
    gain.connect(right);
    for (const change of ["play", "pause", "volumechange"]) element.addEventListener(change, () => follow(element));
    follow(element);
  }

  function follow(element) {
    const gain = heard.get(element);
    const loud = element.muted || element.paused ? 0 : element.volume;
    if (!gain || gain.gain.value === loud) return;
    tap.notes.push({ what: loud ? "audible" : "muted", at: now() });
    gain.gain.value = loud;
  }

  for (const name of ["muted", "volume"]) {
    const property = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, name);
    Object.defineProperty(HTMLMediaElement.prototype, name, {
      ...property,
      set(value) {
        property.set.call(this, value);
        follow(this);
      },
    });
  }

  // What the page plays through an audio graph of its own.
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to instanceof AudioDestinationNode && to.context !== clock) {
      const copy = new MediaStreamAudioDestinationNode(this.context);
      realConnect.call(this, copy);
      void open().then(({ context, right }) => {
        realConnect.call(new MediaStreamAudioSourceNode(context, { mediaStream: copy.stream }), right);
      });
    }
    return realConnect.call(this, to, ...rest);
  };

  function note(from, text) {
    if (typeof text !== "string") return tap.events.push({ from, type: "sound", at: now(), event: { bytes: text.byteLength } });
    try {
      const event = JSON.parse(text);
      tap.events.push({ from, type: event.type, at: now(), event });
    } catch {
      tap.events.push({ from, type: "unreadable", at: now(), event: null });
    }
  }

  const createDataChannel = RTCPeerConnection.prototype.createDataChannel;
  RTCPeerConnection.prototype.createDataChannel = function (...given) {
    tap.peers.push(this);
    const channel = createDataChannel.apply(this, given);
    channel.addEventListener("message", ({ data }) => note("gateway", data));
    const send = channel.send.bind(channel);
    channel.send = (data) => {
      note("page", data);
      send(data);
    };
    return channel;
  };

  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    constructor(url, protocols) {
      super(url, protocols);
      tap.sockets.push(this);
      this.addEventListener("message", ({ data }) => note("gateway", data));
    }
    send(data) {
      note("page", data);
      super.send(data);
    }
  };
})();
