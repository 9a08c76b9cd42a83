// @ts-check
import { messageKeys, OpenConversation } from "./records.js";

/** @typedef {import("../wire/requests.js").DeliveryMark} DeliveryMark */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./records.js").ConversationRow} ConversationRow */

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
