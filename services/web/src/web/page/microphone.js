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
  unknown: ["The microphone could not be opened.", "Press Start again; if it keeps failing, restart the browser."],
};

/**
 * @param {keyof typeof WORDS} code
 * @returns {Problem}
 */
export function problem(code) {
  const [message, remedy] = /** @type {[string, string]} */ (WORDS[code]);
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
 * Ask for the microphone.
 * @param {{ isSecureContext: boolean, mediaDevices?: Pick<MediaDevices, "getUserMedia"> | undefined }} browser
 * @returns {Promise<MediaStream>}
 */
export async function openMicrophone({ isSecureContext, mediaDevices }) {
  if (!isSecureContext) throw new NoMicrophone(problem("insecure"));
  if (!mediaDevices?.getUserMedia) throw new NoMicrophone(problem("unsupported"));
  try {
    return await mediaDevices.getUserMedia({
      audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true },
    });
  } catch (error) {
    throw new NoMicrophone(problemOf(error));
  }
}

/**
 * Give the microphone back; the browser's indicator goes off.
 * @param {MediaStream | null} stream
 */
export function release(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
