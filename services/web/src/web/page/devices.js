// Microphones and speakers: which there are, which was chosen, and what a change of them means.

/** @typedef {"audioinput" | "audiooutput"} Kind */
/** @typedef {Pick<MediaDeviceInfo, "kind" | "deviceId" | "label">} Device */
/** @typedef {{ id: string, label: string }} Choice */

const NAMES = { audioinput: "Microphone", audiooutput: "Speaker" };
/** Names that a browser gives the device which the system has chosen; they are listed beside the device itself. */
const ALIASES = new Set(["default", "communications"]);

/**
 * What a person may choose from. Before the microphone was allowed once, browsers hide how many there are and their names.
 * @param {Device[]} devices
 * @param {Kind} kind
 * @returns {Choice[]}
 */
export function choices(devices, kind) {
  return devices
    .filter((one) => one.kind === kind && one.deviceId !== "" && !ALIASES.has(one.deviceId))
    .map((one, at) => ({ id: one.deviceId, label: one.label || `${NAMES[kind]} ${at + 1}` }));
}

/**
 * What became of the device in use when the list changed.
 * @param {Device[]} before
 * @param {Device[]} now
 * @param {Kind} kind
 * @param {string | null} inUse its id; null for the system's choice
 * @returns {{ gone: Choice | null, came: Choice | null }}
 */
export function changed(before, now, kind, inUse) {
  const [had, has] = [choices(before, kind), choices(now, kind)];
  const gone = had.find(({ id }) => id === inUse && !has.some((one) => one.id === id)) ?? null;
  // Names that appear with the permission are no device that was plugged in.
  const came = had.length === 0 ? null : (has.find(({ id }) => !had.some((one) => one.id === id)) ?? null);
  return { gone, came };
}

/**
 * A name without what browsers add to it, such as the ids of the vendor and the product.
 * @param {string} label
 * @returns {string}
 */
export function plainName(label) {
  return label.replace(/\s*\([0-9a-f]{4}:[0-9a-f]{4}\)$/i, "");
}
