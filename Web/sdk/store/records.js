// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { conversationTraits } from "../model/conversation-kind.js";
import { MessageContent } from "../model/message-content.js";
import { Message } from "../model/message.js";
import { timetokenKey } from "../model/timetoken.js";
import { LogState } from "../sync/log-state.js";
import { ReadState } from "../sync/read-state.js";
import { RecentEntry } from "../sync/recent-entry.js";

/** @typedef {import("../model/message.js").Message} StoredMessage */
/** @typedef {import("../sync/log-state.js").StoredLogState} StoredLogState */
/** @typedef {import("../sync/read-state.js").StoredReadState} StoredReadState */
/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * The values of an entry, without its methods.
 *
 * @typedef {{[Name in keyof RecentEntry as RecentEntry[Name] extends Function ? never : Name]: RecentEntry[Name]}}
 *   RecentEntryFields
 */

/**
 * A conversation in the store.
 *
 * The last members are the keys of indexes. They are absent if the conversation does not belong to the index.
 *
 * @typedef {object} ConversationRow
 * @property {string} id
 * @property {StoredLogState | null} log `null` until the head is known.
 * @property {StoredReadState | null} read
 * @property {Omit<RecentEntryFields, "newProfile">} entry
 * @property {string | null} name
 * @property {string | null} avatar
 * @property {number | null} pendingReadRev The user revision that a pending read knows of; `null` ends every marker.
 * @property {StoredMessage | null} [last] A copy of the stored message that the list shows, so that the list needs no
 *   request for it. Rows of earlier versions have none.
 * @property {string | null} [version] An ID that changes with each change of the stored messages.
 * @property {[number, string, string]} [listed] The position in the list of recent conversations.
 * @property {1} [unread] Whether the conversation has unread messages or is marked as unread.
 * @property {1} [behind] Whether missed messages or changes are outstanding.
 * @property {1} [pendingRead] Whether a read is not confirmed by the server.
 * @property {1} [due] Whether this browser has messages to report as delivered.
 */

/** A conversation that a transaction works on. It is read once and stored once. */
export class OpenConversation {
  /**
   * @param {string} id
   * @param {ConversationRow | undefined} row
   */
  constructor(id, row) {
    this.id = id;
    this.traits = conversationTraits[ConversationID.kind(id)];
    this.isStored = row !== undefined;
    this.log = row?.log ? new LogState(row.log) : null;
    this.read = row?.read ? new ReadState(row.read) : null;
    this.entry = row ? RecentEntry.from(row.entry) : new RecentEntry(ConversationID.kind(id));
    if (row && !row.entry.delivery) this.#startDelivery();
    this.name = row?.name ?? null;
    this.avatar = row?.avatar ?? null;
    this.pendingReadRev = row?.pendingReadRev ?? null;
    /**
     * The messages that the transaction stored, by sequence number.
     *
     * @type {Map<number, Message>}
     */
    this.written = new Map();
    this.last = row?.last ?? null;
    this.version = row?.version ?? null;
  }

  /**
   * @param {Transaction} transaction
   * @param {string} id
   */
  static async load(transaction, id) {
    return new OpenConversation(id, await transaction.get("conversations", id));
  }

  /** Adds what the rows of earlier versions do not have. */
  #startDelivery() {
    this.entry.delivery.reported(this.log?.replayed ?? 0);
    this.entry.delivery.advancePeer(this.entry.peerReadSeq);
  }

  /** Updates whether the conversation is listed, and its position. */
  updateListing() {
    this.entry.updateListing({
      head: this.log?.head ?? 0,
      unread: this.read?.unread ?? 0,
      mentions: this.read?.mentions ?? 0,
    });
  }

  /**
   * Stores the conversation.
   *
   * @param {Transaction} transaction
   */
  save(transaction) {
    const { entry, log, read } = this;
    const { newProfile, ...fields } = entry;
    if (newProfile) ({ name: this.name, avatar: this.avatar } = newProfile);
    entry.newProfile = null;
    /** @type {ConversationRow} */
    const row = {
      id: this.id,
      log: log?.toJSON() ?? null,
      read: read?.toJSON() ?? null,
      entry: fields,
      name: this.name,
      avatar: this.avatar,
      pendingReadRev: this.pendingReadRev,
      last: this.last,
      version: this.version,
    };
    if (entry.isListed) row.listed = [entry.isPinned ? 1 : 0, timetokenKey(entry.sortTime), this.id];
    if (isUnread(this)) row.unread = 1;
    if (log?.isBehind && entry.isMember && this.traits.replaysMissed) row.behind = 1;
    if (read && read.pendingReadSeq !== null) row.pendingRead = 1;
    if (log && entry.delivery.isDue) row.due = 1;
    transaction.put("conversations", row);
  }
}

/** @param {OpenConversation} conversation */
function isUnread({ read, entry, traits }) {
  if (!traits.hasRecents) return false;
  return entry.isMarkedUnread || (read !== null && (read.unread > 0 || read.mentions > 0 || !read.isExact));
}

/**
 * The keys of the messages in a range of sequence numbers; by default all.
 *
 * @param {string} conversation
 * @param {number} [lower]
 * @param {number} [upper]
 */
export const messageKeys = (conversation, lower = 0, upper = Number.MAX_SAFE_INTEGER) =>
  IDBKeyRange.bound([conversation, lower], [conversation, upper]);

/**
 * Returns the message of a stored row.
 *
 * @param {any} row
 */
export function messageOf(row) {
  const message = new Message(row);
  if (message.content) message.content = new MessageContent(message.content.type, message.content.json);
  return message;
}
