// @ts-check

/** @typedef {import("../model/errors.js").Problem} Problem */
/** @typedef {import("../wire/requests.js").PushDevice} PushDevice */
/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * The desired registration of this browser for pushes, and the parts that renew its subscription.
 *
 * @typedef {object} PushSubscriber
 * @property {PushDevice} device
 * @property {string} scope The scope of the service worker.
 * @property {string} applicationServerKey
 */

/**
 * The state of this browser's registration for pushes.
 *
 * @typedef {object} PushRow
 * @property {PushSubscriber | null} wanted `null` for no registration.
 * @property {boolean} isAcknowledged Whether the server has accepted it, as far as the client knows.
 * @property {Problem | null} refusal Why the server rejected it.
 * @property {number} version The number of the change.
 */

/**
 * The values of the store `meta`.
 *
 * @typedef {object} Meta
 * @property {string} user The user and the server that the store belongs to.
 * @property {string} server
 * @property {string} device The device ID, which is created with the store.
 * @property {string} cursor The cursor of the last sync window.
 * @property {boolean} isInterrupted Whether the cursor's sync pass is unfinished. Changes made since that pass began
 *   may be missing from it, so that another pass must follow.
 * @property {boolean} hasCompletedSync Whether a sync pass was ever completed. Until then the device is new, and
 *   messages before its first connection do not count as missed.
 * @property {true} flushes A value that only exists to be written.
 * @property {string} draftCursor The cursor of the last list of drafts.
 * @property {number | true} draftsAreBehind A random number of the last report of drafts that this device has not
 *   listed; 0 if it has all of them.
 * @property {number} draftVersion The number of the last change of a draft on this device.
 * @property {PushRow} push This browser's registration for pushes.
 * @property {boolean} isRecovered Whether nothing is left of the recovery after the server's store went back.
 * @property {string} checkpoint The newest checkpoint that covers everything in the store.
 */

/**
 * @template {keyof Meta} Name
 * @param {Transaction} transaction
 * @param {Name} name
 * @returns {Promise<Meta[Name] | null>}
 */
export async function getMeta(transaction, name) {
  return await transaction.get("meta", name) ?? null;
}

/**
 * @template {keyof Meta} Name
 * @param {Transaction} transaction
 * @param {Name} name
 * @param {Meta[Name]} value
 */
export const setMeta = (transaction, name, value) => transaction.put("meta", value, name);

/** @param {Transaction} transaction */
export const hasCompletedSync = async (transaction) => await getMeta(transaction, "hasCompletedSync") ?? false;

/**
 * The position at which the next sync pass begins, or an interrupted one continues.
 *
 * @param {Transaction} transaction
 */
export async function syncPoint(transaction) {
  return {
    cursor: await getMeta(transaction, "cursor"),
    isInterrupted: await getMeta(transaction, "isInterrupted") ?? false,
    hasCompletedSync: await hasCompletedSync(transaction),
  };
}

/**
 * Stores the cursor of a sync window.
 *
 * @param {Transaction} transaction
 * @param {string} cursor
 * @param {boolean} isLastWindow Whether the window completes its sync pass.
 */
export function saveCursor(transaction, cursor, isLastWindow) {
  setMeta(transaction, "cursor", cursor);
  setMeta(transaction, "isInterrupted", !isLastWindow);
  if (isLastWindow) setMeta(transaction, "hasCompletedSync", true);
}
