// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { RecentEntry } from "../sync/recent-entry.js";
import { draftOf } from "./drafts.js";
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
 * @typedef {{position: NonNullable<ConversationRow["listed"]>, entry: RecentConversation}} ListedConversation
 */

/**
 * The unread messages of the conversations in the list, without muted ones, and the mentions in all of them.
 *
 * @typedef {{unread: number, mentions: number}} UnreadTotals
 */

/** The number of conversations from which the drafts of all conversations are read instead of those of each. */
const manyDrafts = 20;

/** The beginning of the list as one screen reads it: completely at first, and then only what changed. */
export class RecentsReader {
  #limit;
  /** @type {ListedConversation[]} */
  #list = [];
  /** The counts of the conversations with unread messages. @type {Map<string, UnreadTotals>} */
  #unread = new Map();

  /** @param {number} limit */
  constructor(limit) {
    this.#limit = limit;
  }

  /** The list: pinned conversations first, then by the time of the last message. */
  get conversations() {
    return this.#list.map(({ entry }) => entry);
  }

  /** @returns {UnreadTotals} */
  get totals() {
    const totals = { unread: 0, mentions: 0 };
    for (const { unread, mentions } of this.#unread.values()) {
      totals.unread += unread;
      totals.mentions += mentions;
    }
    return totals;
  }

  /**
   * @param {Transaction} transaction
   * @param {ReadonlySet<string> | null} changes The conversations that changed since the last read; `null` for all. A
   *   read after one that failed must have `null`.
   */
  async read(transaction, changes) {
    if (!changes) {
      const [unread] = await Promise.all([transaction.allOf("conversations", "unread"), this.#readList(transaction)]);
      this.#unread = new Map();
      for (const row of unread) this.#count(row.id, row);
      return;
    }
    const ids = [...changes];
    const rows = await Promise.all(ids.map((id) => transaction.get("conversations", id)));
    for (const [index, id] of ids.entries()) this.#count(id, rows[index]);
    await this.#update(transaction, changes, rows.filter((row) => row?.listed));
  }

  /** @param {Transaction} transaction */
  async #readList(transaction) {
    this.#list = await listed(transaction, await transaction.newest("conversations", "listed", null, this.#limit));
  }

  /**
   * @param {Transaction} transaction
   * @param {ReadonlySet<string>} changes
   * @param {ConversationRow[]} rows Those that are in the list now.
   */
  async #update(transaction, changes, rows) {
    const known = this.#list;
    const list = known.filter(({ entry }) => !changes.has(entry.id));
    for (const item of await listed(transaction, rows)) list.splice(placeIn(list, item.position), 0, item);
    list.splice(this.#limit);
    const [end, oldEnd] = [list.at(-1)?.position, known.at(-1)?.position];
    // A conversation beyond a full list was not read, and may follow now.
    const isComplete = known.length < this.#limit ||
      (end && list.length === this.#limit && indexedDB.cmp(end, oldEnd) >= 0);
    if (isComplete) this.#list = list;
    else await this.#readList(transaction);
  }

  /**
   * Records the counts of a conversation.
   *
   * @param {string} id
   * @param {ConversationRow | undefined} row
   */
  #count(id, row) {
    this.#unread.delete(id);
    const { unread, listed, entry, read } = row ?? {};
    if (!unread || !listed || !entry?.isMember || !read) return;
    this.#unread.set(id, { unread: entry.isMuted ? 0 : read.unread, mentions: read.mentions });
  }
}

/**
 * Returns the index at which a position belongs into a list.
 *
 * @param {ListedConversation[]} list
 * @param {ListedConversation["position"]} position
 */
function placeIn(list, position) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (indexedDB.cmp(list[middle]?.position, position) > 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {Transaction} transaction
 * @param {ConversationRow[]} rows
 * @returns {Promise<ListedConversation[]>}
 */
async function listed(transaction, rows) {
  /** @type {Promise<import("./drafts.js").DraftRow[]> | null} */
  const all = rows.length < manyDrafts ? null : transaction.all("drafts");
  const drafts = new Map((await all)?.map(({ conversation, draft }) => [conversation, draft]));
  return await Promise.all(rows.map(async (row) => ({
    position: /** @type {ListedConversation["position"]} */ (row.listed),
    entry: await recentOf(transaction, row, all ? drafts.get(row.id) ?? null : undefined),
  })));
}

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
 * @param {Draft | null} [known] The draft; without it, the draft is read.
 * @returns {Promise<RecentConversation>}
 */
async function recentOf(transaction, { id, name, avatar, entry: stored, read, last: copy }, known) {
  const entry = RecentEntry.from(stored);
  const { lastSeq } = entry;
  const [last, draft] = await Promise.all([
    entry.hidesLast || lastSeq === 0 ? null : copy?.seq === lastSeq ? copy : transaction.get("messages", [id, lastSeq]),
    known === undefined ? draftOf(transaction, id) : known,
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
    draft,
  };
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
