// The settings of the voice: which microphone and speaker, how the person talks, and a meter that shows that it works.

import { changed, choices, plainName } from "./devices.js";
import { byId, fill, h } from "./dom.js";
import { BROWSER, keep, kept } from "./kept.js";
import { NoMicrophone, openMicrophone } from "./microphone.js";
import { Preview } from "./preview.js";

/** @import { Device, Kind } from "./devices.js" */
/** @import { Talk } from "./call-words.js" */

/**
 * @typedef {object} SettingsNeeds
 * @property {() => number | null} level of the microphone in the call that stands
 * @property {() => Talk} talk
 * @property {(mode: Talk["mode"]) => void} choose
 * @property {() => void} microphoneChanged another one was chosen
 * @property {(deviceId: string) => void} speakerChanged
 * @property {(gone: string, next: string) => void} gone the device in use is no longer there; `next` is used now
 */

const SPEAKS_ELSEWHERE = typeof HTMLMediaElement !== "undefined" && "setSinkId" in HTMLMediaElement.prototype;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export class VoiceSettings {
  /** @type {Device[]} */
  #devices = [];
  /** @type {Preview | null} */
  #preview = null;
  /** @type {MediaStream | null} */
  #stream = null;
  #loudest = 0;
  /**
   * The microphone that was in use and is gone, until another one takes its place.
   * @type {string | null}
   */
  #gone = null;

  /** @param {SettingsNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    byId("voice-toggle").addEventListener("click", () => (this.isOpen ? this.close() : this.open()));
    byId("voice-close").addEventListener("click", () => this.close());
    byId("meter-check").addEventListener("click", () => (this.#preview ? this.#endPreview() : void this.#check()));
    select("microphone").addEventListener("change", () => this.#chose("audioinput", select("microphone").value));
    select("speaker").addEventListener("change", () => this.#chose("audiooutput", select("speaker").value));
    byId("talk-mode").addEventListener("change", (event) => {
      needs.choose(/** @type {HTMLInputElement} */ (event.target).value === "hold" ? "hold" : "open");
    });
    document.addEventListener("pointerdown", ({ target }) => {
      const within = target instanceof Element && target.closest("#voice-settings, #voice-toggle, #call-remedy");
      if (this.isOpen && !within) this.#hide();
    });
    new IntersectionObserver(
      ([end]) => (byId("settings-more").hidden = end === undefined || end.isIntersecting),
      { root: byId("voice-settings") },
    ).observe(byId("settings-end"));
    navigator.mediaDevices?.addEventListener?.("devicechange", () => void this.look());
    addEventListener("pagehide", () => this.#endPreview());
  }

  get isOpen() {
    return !byId("voice-settings").hidden;
  }

  get speaker() {
    return kept(BROWSER, "speaker") ?? "";
  }

  /** Open the chosen microphone, for a call. */
  async microphone() {
    this.#endPreview();
    const stream = await openMicrophone({ isSecureContext, mediaDevices: navigator.mediaDevices }, kept(BROWSER, "microphone"));
    this.#stream = stream;
    const track = stream.getAudioTracks()[0];
    const label = plainName(track?.label ?? "");
    // Only a track that others end tells of it.
    track?.addEventListener("ended", () => (this.#gone = label));
    if (this.#gone !== null) this.needs.gone(this.#gone, label);
    this.#gone = null;
    // With the permission come the names.
    void this.look();
    return stream;
  }

  open() {
    byId("voice-settings").hidden = false;
    byId("voice-toggle").setAttribute("aria-expanded", "true");
    for (const radio of document.querySelectorAll("#talk-mode input")) {
      /** @type {HTMLInputElement} */ (radio).checked = radio.getAttribute("value") === this.needs.talk().mode;
    }
    fill(byId("meter-words"));
    this.#loudest = 0;
    byId("voice-settings-title").focus({ preventScroll: true });
    void this.look();
    this.#draw();
  }

  /** Close, and give the focus back; whether there was anything to close. */
  close() {
    if (!this.isOpen) return false;
    this.#hide();
    byId("voice-toggle").focus();
    return true;
  }

  /** See which devices there are, and what became of the one in use. */
  async look() {
    const before = this.#devices;
    this.#devices = (await navigator.mediaDevices?.enumerateDevices?.().catch(() => before)) ?? [];
    this.#list("audioinput", select("microphone"), kept(BROWSER, "microphone"));
    this.#list("audiooutput", select("speaker"), this.speaker);
    byId("speaker-setting").hidden = !SPEAKS_ELSEWHERE || choices(this.#devices, "audiooutput").length === 0;
    const speaker = changed(before, this.#devices, "audiooutput", this.speaker);
    if (speaker.gone !== null) {
      this.needs.speakerChanged("");
      this.needs.gone(plainName(speaker.gone.label), "");
    } else if (speaker.came !== null && speaker.came.id === this.speaker) {
      this.needs.speakerChanged(speaker.came.id);
    }
    const track = this.#stream?.getAudioTracks()[0];
    if (track === undefined) return;
    const { gone, came } = changed(before, this.#devices, "audioinput", track.getSettings().deviceId ?? null);
    if (gone !== null && track.readyState === "live") this.#gone = plainName(gone.label);
    // The chosen one is back, or nothing has taken the place of one that is gone.
    const back = came !== null && came.id === kept(BROWSER, "microphone");
    if (back || this.#gone !== null) this.needs.microphoneChanged();
  }

  #hide() {
    this.#endPreview();
    byId("voice-settings").hidden = true;
    byId("voice-toggle").setAttribute("aria-expanded", "false");
  }

  /**
   * @param {Kind} kind
   * @param {string} id
   */
  #chose(kind, id) {
    keep(BROWSER, kind === "audioinput" ? "microphone" : "speaker", id || null);
    if (kind === "audiooutput") return this.needs.speakerChanged(id);
    this.needs.microphoneChanged();
    if (this.#preview !== null) void this.#check();
  }

  /**
   * @param {Kind} kind
   * @param {HTMLSelectElement} into
   * @param {string | null} chosen
   */
  #list(kind, into, chosen) {
    const known = choices(this.#devices, kind);
    const options = [{ id: "", label: "The system's choice" }, ...known];
    fill(into, ...options.map(({ id, label }) => h("option", { value: id }, plainName(label))));
    into.value = known.some(({ id }) => id === chosen) ? /** @type {string} */ (chosen) : "";
  }

  async #check() {
    this.#endPreview();
    fill(byId("meter-words"), "Asking for the microphone…");
    try {
      const stream = await openMicrophone({ isSecureContext, mediaDevices: navigator.mediaDevices }, kept(BROWSER, "microphone"));
      if (!this.isOpen) return stream.getTracks().forEach((track) => track.stop());
      this.#preview = new Preview(stream);
    } catch (error) {
      const why = error instanceof NoMicrophone ? error.problem : null;
      return fill(byId("meter-words"), why ? `${why.message} ${why.remedy}` : "The microphone could not be opened.");
    }
    this.#loudest = 0;
    fill(byId("meter-check"), "Stop");
    fill(byId("meter-words"), "Say something.");
    await this.look();
    this.#draw();
  }

  #endPreview() {
    this.#preview?.close();
    this.#preview = null;
    fill(byId("meter-check"), "Check it");
  }

  #draw() {
    if (!this.isOpen) return;
    const inCall = this.needs.level();
    const level = inCall ?? this.#preview?.level() ?? 0;
    byId("meter-check").hidden = inCall !== null;
    const meter = byId("meter");
    meter.setAttribute("aria-valuenow", String(Math.round(level * 100)));
    // Without motion the bar keeps the loudest that was heard.
    this.#loudest = Math.max(level, this.#loudest);
    meter.style.setProperty("--level", String(STILL.matches ? this.#loudest : level));
    if (this.#loudest > 0.25) fill(byId("meter-words"), "It hears you.");
    if (inCall !== null || this.#preview !== null) requestAnimationFrame(() => this.#draw());
    else meter.style.setProperty("--level", "0");
  }
}

/**
 * @param {string} id
 * @returns {HTMLSelectElement}
 */
function select(id) {
  return byId(id);
}
