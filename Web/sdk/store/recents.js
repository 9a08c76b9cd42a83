// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { RecentEntry } from "../sync/recent-entry.js";
import { apply } from "./log.js";
import { isAwaited } from "./outbox.js";
import { messageKeys, messageOf } from "./records.js";
import { deleteThreads } from "./threads.js";

/** @typedef {import("../model/conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("../model/conversation-head.js").Mute} Mute */
/** @typedef {import("../model/conversation-kind.js").NotificationLevel} NotificationLevel */
/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./drafts.js").Draft} Draft */
/** @typedef {import("./records.js").ConversationRow} ConversationRow */

/**
 * A conversation in the list of recent conversations.
 *
 * @typedef {object} RecentConversation
 * @property {string} id
 * @property {string | null} name
 * @property {string | null} avatar
 * @property {Message | null} lastMessage
 * @property {number} unread The number of unread messages; 0 if the user is not a member.
 * @property {number} mentions The number of unread messages that mention the user.
 * @property {boolean} isMuted
 * @property {NotificationLevel | null} notifications
 * @property {boolean} isPinned
 * @property {boolean} isMarkedUnread
 * @property {boolean} isMember
 * @property {boolean} isFrozen
 * @property {Mute | null} mute
 * @property {number} peerReadSeq The newest sequence number that the peer of a direct conversation has read.
 * @property {number} peerDeliveredSeq The sequence number through which the peer's devices have received a direct
 *   conversation, at least `peerReadSeq`.
 * @property {Draft | null} draft
 */

/**
 * An entry of the list, and its position.
 *
 * @typedef {{position: ConversationRow["listed"], entry: RecentConversation}} ListedConversation
 */

/**
 * Returns the list: pinned conversations first, then by the time of the last message.
 *
 * @param {Transaction} transaction
 * @param {number} limit
 * @param {ListedConversation[]} known The list that was read before, with the same limit.
 * @param {ReadonlySet<string> | null} changes The conversations that changed since then; `null` for all.
 * @returns {Promise<ListedConversation[]>}
 */
export async function recents(transaction, limit, known, changes) {
  if (changes) {
    const changed = await Promise.all([...changes].map((id) => transaction.get("conversations", id)));
    const list = [
      ...known.filter(({ entry }) => !changes.has(entry.id)),
      ...await listed(transaction, changed.filter((row) => row?.listed)),
    ].sort((a, b) => indexedDB.cmp(b.position, a.position)).slice(0, limit);
    const [end, oldEnd] = [list.at(-1)?.position, known.at(-1)?.position];
    // A conversation beyond a full list was not read, and may follow now.
    if (known.length < limit || (end && list.length === limit && indexedDB.cmp(end, oldEnd) >= 0)) return list;
  }
  /** @type {ConversationRow[]} */
  const rows = [];
  await transaction.descend("conversations", "listed", null, (row) => rows.push(row) < limit);
  return await listed(transaction, rows);
}

/**
 * @param {Transaction} transaction
 * @param {ConversationRow[]} rows
 * @returns {Promise<ListedConversation[]>}
 */
const listed = (transaction, rows) =>
  Promise.all(rows.map(async (row) => ({ position: row.listed, entry: await recentOf(transaction, row) })));

/**
 * Returns a conversation's entry, or `null` if it is not in the list.
 *
 * @param {Transaction} transaction
 * @param {string} id
 */
export async function recent(transaction, id) {
  const row = await transaction.get("conversations", id);
  return row?.listed ? await recentOf(transaction, row) : null;
}

/**
 * @param {Transaction} transaction
 * @param {ConversationRow} row
 * @returns {Promise<RecentConversation>}
 */
async function recentOf(transaction, { id, name, avatar, entry: stored, read }) {
  const entry = RecentEntry.from(stored);
  const [last, draft] = await Promise.all([
    entry.hidesLast || entry.lastSeq === 0 ? undefined : transaction.get("messages", [id, entry.lastSeq]),
    transaction.get("drafts", id),
  ]);
  return {
    id,
    name,
    avatar,
    lastMessage: last ? messageOf(last) : null,
    unread: entry.isMember ? read?.unread ?? 0 : 0,
    mentions: entry.isMember ? read?.mentions ?? 0 : 0,
    isMuted: entry.isMuted,
    notifications: entry.notifications,
    isPinned: entry.isPinned,
    isMarkedUnread: entry.isMarkedUnread,
    isMember: entry.isMember,
    isFrozen: entry.isFrozen,
    mute: entry.mute,
    peerReadSeq: entry.peerReadSeq,
    peerDeliveredSeq: entry.delivery.peerSeq,
    draft: draft?.draft ?? null,
  };
}

/**
 * Returns the number of unread messages in the conversations of the list, without muted ones, and the number of
 * mentions in all of them.
 *
 * @param {Transaction} transaction
 */
export async function unreadTotals(transaction) {
  const totals = { unread: 0, mentions: 0 };
  /** @type {ConversationRow[]} */
  const rows = await transaction.allOf("conversations", "unread");
  for (const { listed, entry, read } of rows) {
    if (!listed || !entry.isMember || !read) continue;
    if (!entry.isMuted) totals.unread += read.unread;
    totals.mentions += read.mentions;
  }
  return totals;
}

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
  transaction.delete("messages", messageKeys(id, 0, Number.MAX_SAFE_INTEGER));
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
