// @ts-check
import { settingKind } from "../model/conversation-head.js";
import { countToLog } from "./counts.js";
import { messageKeys, OpenConversation } from "./records.js";

/** @typedef {import("../model/conversation-head.js").ReadSummary} ReadSummary */
/** @typedef {import("../model/conversation-head.js").SettingKind} SettingKind */
/** @typedef {import("../model/conversation-head.js").StateChange} StateChange */
/** @typedef {import("../wire/requests.js").DeliveryMark} DeliveryMark */
/** @typedef {import("../wire/requests.js").ReadMark} ReadMark */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./records.js").ConversationRow} ConversationRow */

// The user's own state: read positions and settings, which apply at once and are sent to the server later, and what
// this device reports as delivered.

/**
 * A setting that the server has not confirmed.
 *
 * @typedef {{conversation: string, kind: SettingKind, change: StateChange}} PendingSetting
 */

/** The order in which the settings of one conversation are sent. @type {SettingKind[]} */
const order = ["list", "mark", "muted", "notifications", "pinned", "roaming"];

/**
 * Returns the unconfirmed settings of a conversation.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<Map<SettingKind, StateChange>>}
 */
export async function pendingSettings(transaction, id) {
  const row = await transaction.get("settings", id);
  return row?.changes ?? new Map();
}

/**
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {Map<SettingKind, StateChange>} changes
 */
export function savePendingSettings(transaction, conversation, changes) {
  if (changes.size === 0) transaction.delete("settings", conversation);
  else transaction.put("settings", { conversation, changes });
}

/**
 * Returns the unconfirmed settings to send, at most one for each conversation; the others follow it. The settings of a
 * conversation wait for its read.
 *
 * @param {Transaction} transaction
 * @returns {Promise<PendingSetting[]>}
 */
export async function settingsToSend(transaction) {
  /** @type {PendingSetting[]} */
  const settings = [];
  for (const { conversation, changes } of await transaction.all("settings")) {
    const row = await transaction.get("conversations", conversation);
    if (row?.pendingRead) continue;
    const kind = order.find((kind) => changes.has(kind));
    if (kind !== undefined) settings.push({ conversation, kind, change: changes.get(kind) });
  }
  return settings;
}

/**
 * Returns the reads that the server has not confirmed.
 *
 * @param {Transaction} transaction
 * @returns {Promise<ReadMark[]>}
 */
export async function readsToSend(transaction) {
  const rows = await transaction.allOf("conversations", "pendingRead");
  return rows.map(({ id, log, read, pendingReadRev }) => ({
    conversation: id,
    seq: read.pendingReadSeq,
    epoch: log.epoch,
    userRev: pendingReadRev,
  }));
}

/**
 * Applies a setting, and records that it must be sent to the server.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {StateChange} change
 * @returns {Promise<boolean>} Whether it changed anything.
 */
export async function applySetting(transaction, id, change) {
  const kind = settingKind(change);
  const conversation = await OpenConversation.load(transaction, id);
  if (kind === null || !conversation.entry.applyChange(change)) return false;
  conversation.updateListing();
  conversation.save(transaction);
  const pending = await pendingSettings(transaction, id);
  savePendingSettings(transaction, id, pending.set(kind, change));
  return true;
}

/**
 * Removes a conversation from the list until its next message.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<boolean>} Whether the server must receive it.
 */
export async function removeRecent(transaction, id) {
  const conversation = await OpenConversation.load(transaction, id);
  if (!conversation.entry.isListed) return false;
  const { log } = conversation;
  /** @type {StateChange} */
  const change = {
    type: "removeRecent",
    at: log && { seq: log.head, epoch: log.epoch },
    excludesFromNewDevices: false,
  };
  if (log) return await applySetting(transaction, id, change);
  // The server has nothing to remove, and would remove messages sent since.
  conversation.entry.applyChange(change);
  conversation.updateListing();
  conversation.save(transaction);
  return false;
}

/**
 * Deletes a setting that the server accepted or rejected, unless it was changed again in the meantime.
 *
 * @param {Transaction} transaction
 * @param {PendingSetting} setting
 */
export async function removePendingSetting(transaction, { conversation, kind, change }) {
  const pending = await pendingSettings(transaction, conversation);
  if (JSON.stringify(pending.get(kind)) !== JSON.stringify(change)) return;
  const row = await transaction.get("conversations", conversation);
  // A pending read ended the accepted marker, so a recorded marker is a newer one.
  if (kind === "mark" && row?.pendingRead) return;
  pending.delete(kind);
  savePendingSettings(transaction, conversation, pending);
}

/**
 * Marks all messages up to a sequence number as read. The server is notified later.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {string} id
 * @param {number | null} seq `null` for the newest message.
 * @returns {Promise<boolean>} Whether anything changed that the server must receive.
 */
export async function markRead(transaction, user, id, seq) {
  const conversation = await OpenConversation.load(transaction, id);
  const { log, read, entry } = conversation;
  if (!log || !read) return false;
  const place = Math.min(seq ?? log.head, log.head);
  const isMarked = entry.isMarkedUnread;
  if (place < read.position || (place === read.position && !isMarked)) return false;
  const [row, pending] = await Promise.all([
    transaction.get("messages", [id, place]),
    pendingSettings(transaction, id),
  ]);
  // Record which unread markers the read knows of, however much later it is sent. If this device's own marker is
  // unconfirmed, it may still have reached the server. The read then ends every marker.
  const endsEvery = pending.has("mark") || (read.pendingReadSeq !== null && conversation.pendingReadRev === null);
  conversation.pendingReadRev = endsEvery ? null : entry.settingsRev;
  read.markRead(place, place === log.head ? log.countedIndex : row?.countedIndex ?? null);
  await countToLog(transaction, user, conversation);
  if (isMarked) {
    entry.endUnreadMarker();
    pending.delete("mark");
    savePendingSettings(transaction, id, pending);
  }
  conversation.updateListing();
  conversation.save(transaction);
  return true;
}

/**
 * Deletes an unconfirmed read that the server rejected, unless the user has read more since or the log is a new one.
 *
 * @param {Transaction} transaction
 * @param {ReadMark} mark
 */
export async function dropPendingRead(transaction, { conversation: id, seq, epoch }) {
  const conversation = await OpenConversation.load(transaction, id);
  const { log, read } = conversation;
  if (log?.epoch !== epoch || read?.pendingReadSeq !== seq) return;
  read.dropPendingRead();
  conversation.save(transaction);
}

/**
 * Applies the server's view of the user's own state.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {string} id
 * @param {ReadSummary} summary
 * @param {"read" | "setting" | null} answers The kind of request that the summary answers, if any.
 * @returns {Promise<boolean>} Whether the head must be fetched: the log is unknown, the counts are not exact, or an
 *   unsent local change hid a newer state from an outdated answer.
 */
export async function applySummary(transaction, user, id, summary, answers = null) {
  const conversation = await OpenConversation.load(transaction, id);
  const { log, read, entry } = conversation;
  if (!log || log.epoch !== summary.epoch || !read) return true;
  read.apply(summary, answers === "read");
  await countToLog(transaction, user, conversation);
  const pending = new Set((await pendingSettings(transaction, id)).keys());
  entry.applySettings(summary, pending, read.pendingReadSeq !== null);
  conversation.updateListing();
  conversation.save(transaction);
  if (answers !== null && summary.userRev < entry.settingsRev) return true;
  return !read.isExact && read.pendingReadSeq === null;
}

/**
 * Returns the positions that this device must report. A read that is still to be sent reports the messages that it
 * covers.
 *
 * @param {Transaction} transaction
 * @param {number} limit
 * @returns {Promise<DeliveryMark[]>}
 */
export async function dueDeliveries(transaction, limit) {
  /** @type {ConversationRow[]} */
  const rows = await transaction.allOf("conversations", "due");
  return rows
    .filter(({ entry, read }) => entry.isMember && (entry.delivery?.dueSeq ?? 0) > (read?.pendingReadSeq ?? 0))
    .slice(0, limit)
    .map(({ id, log, entry }) => ({ conversation: id, seq: entry.delivery.dueSeq, epoch: log?.epoch ?? "" }));
}

/**
 * Returns the newest stored message of another user in a range.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {string} id
 * @param {import("../model/seq-range-set.js").SeqRange} range
 * @returns {Promise<number | null>}
 */
export async function newestOfOthers(transaction, user, id, [lower, upper]) {
  /** @type {number | null} */
  let newest = null;
  await transaction.descend("messages", null, messageKeys(id, lower, upper), (row) => {
    if (row.sender !== user) newest = row.seq;
    return newest === null;
  });
  return newest;
}

/**
 * Records that the server knows positions of this device, as deliveries or as reads.
 *
 * @param {Transaction} transaction
 * @param {readonly {conversation: string, seq: number, epoch: string}[]} marks
 */
export async function saveReported(transaction, marks) {
  for (const { conversation: id, seq, epoch } of marks) {
    const conversation = await OpenConversation.load(transaction, id);
    if (conversation.log?.epoch !== epoch) continue;
    conversation.entry.delivery.reported(seq);
    conversation.save(transaction);
  }
}
