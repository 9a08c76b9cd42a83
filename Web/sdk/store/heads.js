// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { apply } from "./log.js";
import { isAwaited } from "./outbox.js";
import { messageKeys } from "./records.js";
import { deleteThreads } from "./threads.js";

/** @typedef {import("../model/conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./records.js").ConversationRow} ConversationRow */

// Stores and deletes whole conversations, and finds those that the server must be asked about.

/**
 * Returns the log positions of all conversations that an earlier connection left behind.
 *
 * @param {Transaction} transaction
 * @returns {Promise<LogPosition[]>}
 */
export async function positionsBehind(transaction) {
  /** @type {ConversationRow[]} */
  const rows = await transaction.allOf("conversations", "behind");
  return rows.flatMap(({ id, log }) =>
    log ? [{ conversation: id, epoch: log.epoch, view: log.view, seq: log.replayed, rev: log.rev }] : []
  );
}

/**
 * Returns conversations whose counts only the server can correct, except those that wait for an answer.
 *
 * Channels are included because the server does not send missed channel messages on its own.
 *
 * @param {Transaction} transaction
 * @returns {Promise<string[]>}
 */
export async function uncertainConversations(transaction) {
  /** @type {ConversationRow[]} */
  const rows = await transaction.allOf("conversations", "unread");
  return rows.filter(({ id, read, entry, behind, pendingRead }) =>
    read !== null && read.certainty !== "exact" && entry.isMember && !pendingRead &&
    (ConversationID.kind(id) === "community" || !behind)
  ).map(({ id }) => id);
}

/**
 * Deletes a conversation from the store. Queued messages stay, and the server will reject them.
 *
 * @param {Transaction} transaction
 * @param {string} id
 */
export function deleteConversation(transaction, id) {
  transaction.delete("messages", messageKeys(id));
  transaction.delete("kept", messageKeys(id));
  transaction.delete("conversations", id);
  deleteThreads(transaction, id);
}

/**
 * Deletes a conversation that the server does not know, which an answer from before its deletion restored.
 *
 * Conversations without a known log and conversations with queued messages stay.
 *
 * @param {Transaction} transaction
 * @param {string} id
 */
export async function deleteIfGone(transaction, id) {
  const row = await transaction.get("conversations", id);
  if (!row?.log || !ConversationID.traits(id).hasRecents || await isAwaited(transaction, id)) return;
  deleteConversation(transaction, id);
}

/**
 * Stores heads.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {readonly ConversationHead[]} heads
 */
export const storeHeads = (transaction, user, heads) =>
  apply(transaction, user, heads.map((head) => ({ type: "head", head })));
