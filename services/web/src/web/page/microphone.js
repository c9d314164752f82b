// The microphone: asked for, and every way that it can fail, with a message and a remedy (V12).

/**
 * @typedef {object} Problem
 * @property {string} code
 * @property {string} message what happened
 * @property {string} remedy what to do
 */

/** @type {Record<string, [message: string, remedy: string]>} */
const WORDS = {
  insecure: [
    "The browser gives no microphone to this address.",
    "Open Talkdown at http://localhost with its port, or over https. Typing works here too.",
  ],
  unsupported: [
    "This browser offers no microphone to pages.",
    "Use a current Firefox, Chrome, Edge or Safari, or type your question.",
  ],
  refused: [
    "The microphone was refused.",
    "Allow it in the site settings beside the address, then press Start again. Typing works without it.",
  ],
  forbidden: [
    "A policy of this browser or system keeps the microphone from the page.",
    "Ask whoever manages this machine, or allow the browser in the system's privacy settings. Typing works without it.",
  ],
  missing: ["No microphone was found.", "Plug one in or switch it on, then press Start again. Typing works without it."],
  busy: [
    "The microphone is there, but the system does not hand it over.",
    "Close other programs that use it, or plug it in again, then press Start.",
  ],
  ended: ["The microphone was taken away.", "Plug it in again, then press Start."],
  muted: [
    "The system or the headset mutes the microphone.",
    "Switch it on there: a key of the keyboard, a button of the headset, or the system's sound settings.",
  ],
  silent: [
    "Nothing is heard from the microphone.",
    "If you did speak, see whether it is muted, or choose another one.",
  ],
  blocked: ["The browser keeps the voice silent until you allow it.", "Press the button to hear it."],
  unknown: ["The microphone could not be opened.", "Press Start again; if it keeps failing, restart the browser."],
};

/**
 * @param {string} code
 * @returns {Problem}
 */
export function problem(code) {
  const [message, remedy] = /** @type {[string, string]} */ (WORDS[code] ?? WORDS["unknown"]);
  return { code, message, remedy };
}

/**
 * What a failed request for the microphone means to a person.
 * https://www.w3.org/TR/mediacapture-streams/#dom-mediadevices-getusermedia names the errors.
 * @param {unknown} error
 * @returns {Problem}
 */
export function problemOf(error) {
  const { name, message } = /** @type {{ name?: string, message?: string }} */ (error ?? {});
  switch (name) {
    case "NotAllowedError":
      return problem(/system|policy/i.test(message ?? "") ? "forbidden" : "refused");
    case "SecurityError":
      return problem("forbidden");
    case "NotFoundError":
    case "OverconstrainedError":
    case "DevicesNotFoundError":
      return problem("missing");
    case "NotReadableError":
    case "AbortError":
    case "TrackStartError":
      return problem("busy");
    default:
      return problem("unknown");
  }
}

/** The microphone could not be had; `problem` says why and what to do. */
export class NoMicrophone extends Error {
  /** @param {Problem} why */
  constructor(why) {
    super(why.message);
    this.problem = why;
  }
}

/**
 * Ask for the microphone: the chosen one, or the browser's default where none is chosen or the chosen one is not there.
 * @param {{ isSecureContext: boolean, mediaDevices?: Pick<MediaDevices, "getUserMedia"> | undefined }} browser
 * @param {string | null} [deviceId]
 * @returns {Promise<MediaStream>}
 */
export async function openMicrophone(browser, deviceId = null) {
  const { isSecureContext, mediaDevices } = browser;
  if (!isSecureContext) throw new NoMicrophone(problem("insecure"));
  if (!mediaDevices?.getUserMedia) throw new NoMicrophone(problem("unsupported"));
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  try {
    return await mediaDevices.getUserMedia({ audio: deviceId ? { ...audio, deviceId: { exact: deviceId } } : audio });
  } catch (error) {
    const why = problemOf(error);
    if (deviceId && why.code === "missing") return openMicrophone(browser);
    throw new NoMicrophone(why);
  }
}

/**
 * Give the microphone back; the browser's indicator goes off.
 * @param {MediaStream | null} stream
 */
export function release(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
