// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { compareTimetokens } from "../model/timetoken.js";
import { outdatedCommit } from "./checkpoint.js";
import { markDraftsBehind } from "./draft-sync.js";
import { getMeta, setMeta } from "./meta.js";
import { insertIntoOutbox, removeFromOutbox, saveOutboxItem } from "./outbox.js";
import { messageOf } from "./records.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../sync/outbox-item.js").OutboxItem} OutboxItem */
/** @typedef {import("./database.js").Transaction} Transaction */

// What to do if the server no longer has everything that this device has seen.

/**
 * The age in milliseconds up to which a message that the server lost is sent again automatically. Older messages fail,
 * so that the user decides whether they still make sense.
 */
const resendAge = 24 * 60 * 60 * 1000;

/**
 * Prepares for a new sync because the server's store went back to an earlier state.
 *
 * The user's own messages that the server may have lost are kept in the outbox until the server has answered whether it
 * has them. The user's other messages are kept for the case that the store goes back once more. The browser loads only
 * some of them again. All conversations and profiles are fetched again, and drafts are compared with those of the
 * server. The function can be called repeatedly.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {string} lostAfter The timetoken after which messages may be lost.
 */
export async function adoptRollback(transaction, user, lostAfter) {
  const queued = new Set((await transaction.all("outbox")).map(({ id }) => id));
  // A stored message is newer than its kept version. It can also be a tombstone.
  const rows = [...await transaction.all("kept"), ...await transaction.all("messages")];
  transaction.delete("kept", IDBKeyRange.bound([], [[]]));
  for (const row of new Map(rows.map((row) => [row.id, row])).values()) {
    const message = messageOf(row);
    const { id, conversation, content, attributes } = message;
    if (message.sender !== user || !content || message.type === "notice" || queued.has(id)) continue;
    if (compareTimetokens(message.timetoken, lostAfter) <= 0) transaction.put("kept", row);
    else {
      await insertIntoOutbox(transaction, {
        id,
        conversation,
        request: { type: "send", submission: { id, content, attributes } },
        now: message.sentAt.getTime(),
        state: { type: "unconfirmed" },
        isFrozen: true,
      });
    }
  }
  for (const row of await transaction.all("conversations")) {
    if (row.log) transaction.put("conversations", { ...row, entry: { ...row.entry, lastCommit: outdatedCommit } });
  }
  for (const row of await transaction.all("people")) transaction.put("people", { ...row, fetchedAt: 0 });
  // A server that lost all drafts does not report any.
  markDraftsBehind(transaction);
  setMeta(transaction, "isRecovered", false);
}

/**
 * Returns whether nothing is left to recover after the server's store went back.
 *
 * @param {Transaction} transaction
 */
export const isRecovered = async (transaction) => await getMeta(transaction, "isRecovered") ?? false;

/**
 * Returns the conversations that were not fetched since the server's store went back, and the messages of which it is
 * unknown whether the server still has them. It reads all conversations. If there are none, {@link isRecovered} is true
 * afterwards.
 *
 * @param {Transaction} transaction
 * @param {number} limit The maximum number of messages.
 */
export async function unconfirmed(transaction, limit) {
  const conversations = (await transaction.all("conversations"))
    .filter(({ entry }) => entry.lastCommit === outdatedCommit).map(({ id }) => /** @type {string} */ (id));
  const messages = (await transaction.allOf("outbox", "ordinal"))
    .filter(({ state }) => state.type === "unconfirmed").slice(0, limit)
    .map(({ id, conversation }) => ({
      id: /** @type {string} */ (id),
      conversation: /** @type {string} */ (conversation),
    }));
  if (conversations.length + messages.length === 0) setMeta(transaction, "isRecovered", true);
  return { conversations, messages };
}

/**
 * Removes a message from the outbox that the server still has, or queues one that it lost.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {Message | undefined} known The message, if the server has it.
 * @param {number} now
 * @returns {Promise<OutboxItem | null>} The item to queue.
 */
export async function confirm(transaction, id, known, now) {
  const row = await transaction.get("outbox", id);
  if (row?.state.type !== "unconfirmed") return null;
  if (known) {
    removeFromOutbox(transaction, id);
    transaction.put("kept", known);
    return null;
  }
  const { request: _, about: _about, isFrozen: wasTransmitted, ...item } = row;
  const isOld = now - row.createdAt > resendAge;
  const message = "The server was restored to an earlier state and lost this message. Send it again or delete it.";
  const state = isOld ? { type: "failed", error: new ScrollbackError("expired", message) } : { type: "queued" };
  const queued = /** @type {OutboxItem} */ ({ ...item, wasTransmitted, state });
  await saveOutboxItem(transaction, queued);
  return queued;
}
