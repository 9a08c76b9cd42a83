// @ts-check
import { survivesNewEpoch } from "../model/conversation-head.js";
import { recentsDepth } from "../model/message-type.js";
import { SeqRangeSet } from "../model/seq-range-set.js";
import { outdatedCommit } from "./checkpoint.js";
import { newestOfOthers, pendingSettings, savePendingSettings } from "./settings.js";
import { messageKeys, messageOf } from "./records.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../sync/log-state.js").LogState} LogState */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./log.js").LogInput} LogInput */
/** @typedef {import("./log.js").OpenLog} OpenLog */

/**
 * Applies the parts of an input that concern the entry in the list of recent conversations.
 *
 * @param {Transaction} transaction
 * @param {LogInput} input
 * @param {LogState | null} before
 * @param {OpenLog} log
 * @param {boolean} isNew Whether the device has never completed a sync pass.
 */
export async function updateEntry(transaction, input, before, log, isNew) {
  const { entry } = log;
  if (before && before.epoch !== log.log?.epoch) {
    // A conversation that was not fetched since the server's store went back has a new log for that reason. Another one
    // was deleted and created again.
    if (entry.lastCommit !== outdatedCommit) transaction.delete("kept", messageKeys(log.id));
    entry.reset();
    await dropPendingOfOldEpoch(transaction, log);
  }
  if (!log.log) return;
  // A new device has missed nothing: earlier messages are history.
  if (!before && isNew) entry.delivery.reported(log.log.head);
  if (input.type === "head") {
    const pending = new Set((await pendingSettings(transaction, log.id)).keys());
    entry.applyHead(input.head, pending, isReadPending(log));
    entry.recordMissed(before, log.log);
  } else if (input.type === "live" && input.event.type === "head") {
    entry.recordMissed(before, log.log, true);
  }
}

/** @param {OpenLog} log */
const isReadPending = ({ read }) => read !== null && read.pendingReadSeq !== null;

/**
 * Deletes the unconfirmed settings that are meaningless in a new epoch. The unconfirmed read is part of the read state,
 * which the new epoch has replaced.
 *
 * @param {Transaction} transaction
 * @param {OpenLog} log
 */
async function dropPendingOfOldEpoch(transaction, log) {
  const pending = await pendingSettings(transaction, log.id);
  for (const kind of pending.keys()) if (!survivesNewEpoch(kind)) pending.delete(kind);
  savePendingSettings(transaction, log.id, pending);
}

/**
 * Updates the entry at the end of the transaction.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {OpenLog} log
 * @returns {Promise<{isUncertain: boolean, hasDeliveries: boolean}>} Whether the server must be asked for the last
 *   message, and whether this device has messages to report that it did not have before.
 */
export async function finishEntry(transaction, user, log) {
  const { delivery } = log.entry;
  const unreported = log.log && delivery.unreported(log.log);
  const [newestOther, isUncertain] = await Promise.all([
    unreported && newestOfOthers(transaction, user, log.id, unreported),
    log.isTouched && updateLastMessage(transaction, log),
  ]);
  if (unreported) delivery.searched(unreported, newestOther);
  log.updateListing();
  return { isUncertain, hasDeliveries: delivery.isDue && delivery.dueSeq !== log.dueBefore };
}

/**
 * Updates the last message of an entry after stored messages changed.
 *
 * @param {Transaction} transaction
 * @param {OpenLog} log
 * @returns {Promise<boolean>} Whether the server must be asked for it.
 */
async function updateLastMessage(transaction, log) {
  const { entry, id } = log;
  const [row, newest] = await Promise.all([
    entry.lastSeq > 0 ? transaction.get("messages", [id, entry.lastSeq]) : undefined,
    newestMessages(transaction, id),
  ]);
  const current = row ? messageOf(row) : null;
  const gaps = log.log?.gaps ?? new SeqRangeSet();
  const isUncertain = entry.updateLastMessage({ gaps, hadRow: log.hadRow, newest, current });
  log.last = [...newest, current].find((message) => message?.seq === entry.lastSeq) ?? null;
  log.version = crypto.randomUUID();
  return isUncertain;
}

/**
 * Returns the newest stored messages, down to the first that the list does not skip.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<Message[]>}
 */
async function newestMessages(transaction, id) {
  /** @type {Message[]} */
  const messages = [];
  await transaction.descend("messages", null, messageKeys(id), (row) => {
    const message = messageOf(row);
    messages.push(message);
    return message.skipsRecents && messages.length <= recentsDepth;
  });
  return messages;
}
