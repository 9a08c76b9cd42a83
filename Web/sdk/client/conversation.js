// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { notificationLevels } from "../model/conversation-kind.js";
import { ScrollbackError } from "../model/errors.js";
import { checkCount, maximumMembers, standardLimits } from "../model/limits.js";
import { MessageContent } from "../model/message-content.js";
import { newMessageID } from "../model/message-id.js";
import { checkMentions } from "../model/message.js";
import { checkName, userID, utf8Length } from "../model/text.js";
import { deleteSentDraft, draftOf, saveDraft } from "../store/drafts.js";
import { localRun, messageWithID, pointToRequest } from "../store/history.js";
import { outboxItemOf, replaceUnsent } from "../store/outbox.js";
import { recent } from "../store/recents.js";
import { OpenConversation } from "../store/records.js";
import { applySetting, markRead, removeRecent } from "../store/settings.js";
import { encodeJSON, plainJSON } from "../wire/json.js";
import { LiveView } from "./live-view.js";
import { editedAttributes } from "./pending-changes.js";
import { prepareFile } from "./files.js";
import { SendHandle } from "./send-handle.js";
import { Threads } from "./threads.js";
import { Timeline } from "./timeline.js";

/** @typedef {import("../model/conversation-head.js").StateChange} StateChange */
/** @typedef {import("../model/conversation-kind.js").NotificationLevel} NotificationLevel */
/** @typedef {import("../model/log.js").LogPage} LogPage */
/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../model/message-content.js").Media} Media */
/** @typedef {import("../model/message.js").Mentions} Mentions */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/message.js").MessageAttributes} MessageAttributes */
/** @typedef {import("../store/database.js").Transaction} Transaction */
/** @typedef {import("../store/drafts.js").Draft} Draft */
/** @typedef {import("../store/outbox.js").QueuedFile} QueuedFile */
/** @typedef {import("../store/outbox.js").OutboxRequest} OutboxRequest */
/** @typedef {import("../store/outbox.js").ThreadChange} ThreadChange */
/** @typedef {import("../store/recents.js").RecentConversation} RecentConversation */
/** @typedef {import("../wire/requests.js").HistoryPoint} HistoryPoint */
/** @typedef {import("../wire/requests.js").HistoryQuery} HistoryQuery */
/** @typedef {import("./core.js").Core} Core */

/**
 * A message that the server sends at a later time.
 *
 * @typedef {object} ScheduledMessage
 * @property {string} id
 * @property {string} conversation
 * @property {MessageContent} content
 * @property {MessageAttributes} attributes
 * @property {Date} sendAt
 * @property {string | null} failure The code of the error with which the server refused to send it.
 */

/**
 * A page of history.
 *
 * @typedef {object} HistoryPage
 * @property {Message[]} messages In the requested order.
 * @property {HistoryQuery | null} older The query for the next older page; `null` if there is none.
 * @property {HistoryQuery | null} newer The query for the next newer page; `null` if there is none.
 * @property {ScrollbackError | null} remoteError Why the server could not fill a gap; the page then ends there.
 */

/**
 * A page of found messages.
 *
 * @typedef {object} SearchPage
 * @property {{message: Message, ranges: [number, number][]}[]} hits Each with the found parts of its text, as half-open
 *   ranges of bytes of UTF-8.
 * @property {string | null} cursor Continues the search; `null` if nothing more is found.
 * @property {boolean} isIndexing Whether the server's index is incomplete; the same search finds more later.
 */

/**
 * A member of a conversation.
 *
 * @typedef {{user: string, role: string}} Member
 */

/** The members of a query that filter messages. @type {(keyof HistoryQuery)[]} */
const filters = [
  "types",
  "excludedTypes",
  "customTypes",
  "senders",
  "mentionsMe",
  "hasMedia",
  "thread",
  "excludesReplies",
];

const newID = () => newMessageID(Date.now(), crypto.getRandomValues(new Uint8Array(10)));

/** A conversation as the client's user sees it. */
export class Conversation {
  /**
   * @param {Core} core
   * @param {string} id
   */
  constructor(core, id) {
    this.core = core;
    this.id = id;
  }

  // Screens

  /**
   * Returns a timeline of this conversation, which reads nothing until it is observed.
   *
   * @param {{at?: HistoryPoint, window?: number}} [options] `at` is the initial position: the newest end, the first
   *   unread message, or a message. `window` is the number of messages, at least 2; up to twice as many while
   *   scrolling.
   * @returns {Timeline}
   */
  timeline({ at = "latest", window = 200 } = {}) {
    checkPoint(at, "at");
    if (!(window >= 2)) throw ScrollbackError.invalidParameter("window", "must be at least 2");
    return new Timeline(this, at, window);
  }

  /**
   * Returns the conversation's entry in the list of recent conversations; `null` if it is not in the list.
   *
   * @returns {LiveView<RecentConversation | null>}
   */
  recent() {
    const { id, core } = this;
    return new LiveView(core, { id }, null, () => core.store.read((transaction) => recent(transaction, id)));
  }

  /** The users who type in the conversation at the moment. */
  get typing() {
    return this.core.typing(this.id);
  }

  /**
   * Signals that the user types, or has stopped. Call it with each keystroke; the client sends a signal every few
   * seconds. Signals are not sent later, so they are dropped while offline.
   *
   * @param {boolean} isTyping
   * @throws {ScrollbackError} `invalid-parameter`
   */
  setTyping(isTyping) {
    checkBoolean(isTyping, "isTyping");
    this.core.post({ type: "typing", id: this.id, isTyping });
  }

  /** The subscription to all messages of a community's channel or a room, which lasts while it is observed. */
  get subscription() {
    return this.core.subscription(this.id);
  }

  // Sending

  /**
   * Sends a message.
   *
   * The promise resolves when the message is stored in this browser. The client then sends it automatically, once,
   * also after the page was closed. The handle reports the result: the server can still reject the message, for example
   * if the user is not a member.
   *
   * @param {string | MessageContent} content A text, or any content.
   * @param {MessageAttributes} [attributes]
   * @returns {Promise<SendHandle>}
   * @throws {ScrollbackError} `invalid-parameter` or `too-large` if the message is invalid. `local-storage` if the
   *   browser can't store it.
   */
  async send(content, attributes = {}) {
    return await this.#send(content, attributes);
  }

  /**
   * @param {string | MessageContent} given
   * @param {MessageAttributes} givenAttributes
   * @param {Omit<QueuedFile, "message"> | null} [file]
   */
  async #send(given, givenAttributes, file = null) {
    const { content, attributes } = checked(given, givenAttributes);
    const id = newID();
    const submission = { id, content, attributes };
    let isDraft = false;
    /**
     * Sending the text of the draft deletes the draft.
     *
     * @param {Transaction} transaction
     */
    const deleteDraft = async (transaction) => {
      isDraft = content.type === "text" && await deleteSentDraft(transaction, this.id, content.text);
    };
    await this.core.queue(this.id, id, { type: "send", submission }, null, deleteDraft, file);
    if (isDraft) this.core.post({ type: "draftChanged" });
    return new SendHandle(this.core, this.id, id);
  }

  /**
   * Sends a file.
   *
   * The promise resolves when the message and the bytes are stored in this browser. The client then uploads the file
   * and sends the message, like any other. An upload continues where it was interrupted, also after the page was
   * closed. The state of the handle has the progress, and `cancel()` stops the upload.
   *
   * @param {Blob} file A `File`, or other bytes, which have no name.
   * @param {{type?: string, media?: Partial<Media>}} [options] `type` is `image`, `gif`, `file` (the default), `voice`
   *   or `video`. `media` has further members of the content, such as `duration`.
   * @param {MessageAttributes} [attributes]
   * @returns {Promise<SendHandle>}
   * @throws {ScrollbackError} `invalid-media` if the browser can't read a picture. `local-storage` if the browser's
   *   storage is full. The server can refuse the file later: the handle then has the state `failed`.
   */
  async sendFile(file, { type = "file", media = {} } = {}, attributes = {}) {
    const prepared = await prepareFile(file, type, media);
    return await this.#send(prepared.content, attributes, prepared.file);
  }

  /**
   * Lets the server send a message at a later time.
   *
   * The promise resolves when the request is stored in this browser. The client sends it when it is online; if the time
   * has passed by then, the server sends the message at once. The server checks the message when its time comes.
   * {@link ChatClient.scheduledMessages} lists the messages, also those that the server refused.
   *
   * @param {string | MessageContent} content A text, or any content.
   * @param {Date} sendAt At most 366 days ahead.
   * @param {MessageAttributes} [attributes]
   * @param {{replacing?: string}} [options] `replacing` is the ID of a scheduled message that this one replaces.
   * @returns {Promise<SendHandle>} A handle that completes when the server has the message. Its ID is the message's,
   *   unless it replaces one.
   * @throws {ScrollbackError} `invalid-parameter` or `too-large` if the message is invalid. `local-storage` if the
   *   browser can't store it. The server can refuse it: the handle then has the state `failed`.
   */
  async schedule(content, sendAt, attributes = {}, { replacing } = {}) {
    const message = checked(content, attributes);
    if (!(sendAt instanceof Date) || Number.isNaN(sendAt.getTime())) {
      throw ScrollbackError.invalidParameter("sendAt", "must be a valid Date");
    }
    // The outbox keeps one request for each ID, and this one may replace a message that is still queued.
    const operation = newID();
    const submission = { id: replacing ?? operation, ...message };
    // The server recognizes a retry by another ID than that of the message, which it knows if it was cancelled.
    return await this.#queue(operation, { type: "schedule", submission, sendAt, operation: newID() }, submission.id);
  }

  /**
   * Returns a handle for a message, for example after a reload. Its state is final if the message was already sent.
   *
   * @param {string} id
   */
  sendHandle(id) {
    checkID(id);
    return new SendHandle(this.core, this.id, id);
  }

  /**
   * Edits a message.
   *
   * If the message itself is still unsent, the client replaces its content before it is sent. Otherwise it queues the
   * edit.
   *
   * @param {string} id
   * @param {string | MessageContent} content The new content, of the same type as the message.
   * @param {{mentions?: Mentions | null, metadata?: JSONObject | null, extra?: unknown, customType?: string | null}}
   *   [changes] New attributes: `null` removes one, and those that are left out stay.
   * @returns {Promise<SendHandle>}
   */
  async edit(id, content, changes = {}) {
    checkID(id);
    const { core } = this;
    const { content: message } = checked(content, editedAttributes({}, changes));
    const edit = { ...plainJSON(changes), content: message };
    const isReplaced = await core.store.write((transaction) =>
      replaceUnsent(transaction, id, (submission) => {
        if (submission.content.type !== message.type) {
          const reason = `must be of type ${submission.content.type}, because an edit can't change the type`;
          throw ScrollbackError.invalidParameter("content", reason);
        }
        return { ...submission, content: message, attributes: editedAttributes(submission.attributes, edit) };
      })
    );
    if (isReplaced) {
      core.changed([this.id]);
      await core.flush();
      return new SendHandle(core, this.id, id);
    }
    const operation = newID();
    return await this.#queue(operation, { type: "edit", message: id, operation, edit }, id);
  }

  /**
   * Recalls the user's own message for everyone. A tombstone stays in its place. A message that was never transmitted
   * is not sent at all.
   *
   * @param {string} id
   */
  recall(id) {
    return this.delete([id]);
  }

  /**
   * Deletes 1...100 messages; messages that don't exist are skipped.
   *
   * @param {string[]} ids
   * @param {{for?: "everyone" | "me"}} [options] Deleting messages of other users for everyone requires the moderator
   *   role. `me` hides them from this user only, on all devices.
   * @returns {Promise<SendHandle>}
   */
  async delete(ids, { for: audience = "everyone" } = {}) {
    if (!Array.isArray(ids)) throw ScrollbackError.invalidParameter("ids", "must be an array of message IDs");
    const [first] = ids;
    if (first === undefined || ids.length > standardLimits.pageSize) {
      throw ScrollbackError.invalidParameter("ids", "must contain 1...100 message IDs", 100);
    }
    for (const id of ids) checkID(id, "ids");
    if (audience === "everyone" && ids.length === 1 && await this.#cancelUnsent(first)) return this.sendHandle(first);
    // If the browser can't load the module, the server's event hides the messages.
    const remote = audience === "me" ? await this.core.remote().catch(() => null) : null;
    /** @param {Transaction} transaction */
    const hide = async (transaction) => {
      if (remote) await this.#hide(transaction, ids, remote.apply);
    };
    return await this.#queue(newID(), { type: "delete", messages: [...ids], audience }, first, hide);
  }

  /**
   * Cancels a message that was never transmitted.
   *
   * @param {string} id
   */
  async #cancelUnsent(id) {
    const item = await this.core.store.read((transaction) => outboxItemOf(transaction, id));
    if (!item?.isMessage || item.wasTransmitted) return false;
    return await this.core.callOutbox("cancel", id) === "cancelled";
  }

  /**
   * Hides messages at once, before the server has accepted it.
   *
   * @param {Transaction} transaction
   * @param {string[]} ids
   * @param {import("./core.js").Remote["apply"]} apply
   */
  async #hide(transaction, ids, apply) {
    const { log } = await OpenConversation.load(transaction, this.id);
    const found = await Promise.all(ids.map((id) => messageWithID(transaction, this.id, id)));
    /** @type {[number, number][]} */
    const ranges = found.flatMap((message) => message ? [[message.seq, message.seq]] : []);
    if (!log || ranges.length === 0) return;
    await apply(transaction, this.core.user, [{
      type: "live",
      event: { type: "hidden", conversation: this.id, epoch: log.epoch, ranges },
    }]);
  }

  /**
   * Adds a reaction to a message.
   *
   * @param {string} id The message.
   * @param {string} emoji An emoji, or any other text of 1...128 bytes of UTF-8.
   */
  react(id, emoji) {
    return this.addAction(id, "reaction", emoji);
  }

  /**
   * Removes the user's own reaction from a message.
   *
   * @param {string} id
   * @param {string} emoji
   */
  unreact(id, emoji) {
    return this.removeAction(id, "reaction", emoji);
  }

  /**
   * Pins a message for everyone.
   *
   * @param {string} id
   */
  pin(id) {
    return this.addAction(id, "pin", "pin");
  }

  /**
   * @param {string} id
   */
  unpin(id) {
    return this.removeAction(id, "pin", "pin");
  }

  /**
   * Votes for an option of a poll.
   *
   * @param {string} id
   * @param {number} option The index of the option, from 0.
   */
  vote(id, option) {
    return this.addAction(id, "vote", String(option));
  }

  /**
   * @param {string} id
   * @param {number} option
   */
  withdrawVote(id, option) {
    return this.removeAction(id, "vote", String(option));
  }

  /**
   * Adds an action of any type to a message.
   *
   * @param {string} id
   * @param {string} type
   * @param {string} value
   * @returns {Promise<SendHandle>}
   */
  async addAction(id, type, value) {
    checkID(id);
    checkAction(type, value);
    const operation = newID();
    return await this.#queue(operation, { type: "addAction", message: id, operation, action: type, value }, id);
  }

  /**
   * Removes the user's own action from a message.
   *
   * @param {string} id
   * @param {string} type
   * @param {string} value
   * @returns {Promise<SendHandle>}
   */
  async removeAction(id, type, value) {
    checkID(id);
    checkAction(type, value);
    const operation = newID();
    return await this.#queue(operation, { type: "removeAction", message: id, operation, action: type, value }, id);
  }

  /**
   * @param {string} operation
   * @param {OutboxRequest} request
   * @param {string} about
   * @param {(transaction: Transaction) => Promise<unknown>} [also]
   */
  async #queue(operation, request, about, also) {
    await this.core.queue(this.id, operation, request, about, also);
    return new SendHandle(this.core, this.id, operation, about);
  }

  /**
   * Stores the draft of a message, on all devices of the user; an empty text deletes it. Sending the text of the draft
   * deletes it too.
   *
   * @param {string} text
   * @param {{replyTo?: string | null}} [options]
   * @throws {ScrollbackError} `too-large` above 128 KiB of JSON.
   */
  async setDraft(text, { replyTo = null } = {}) {
    if (typeof text !== "string") throw ScrollbackError.invalidParameter("text", "must be a text");
    if (replyTo !== null) checkID(replyTo, "replyTo");
    checkSize("draft", { text, replyTo }, standardLimits.contentBytes);
    const isChanged = await this.core.store.write(
      (transaction) => saveDraft(transaction, this.id, { text, replyTo }),
      { stores: ["drafts"] },
    );
    if (!isChanged) return;
    this.core.changed([this.id]);
    this.core.post({ type: "draftChanged" });
  }

  /**
   * Returns the draft, which another device may change; `null` if there is none.
   *
   * @returns {LiveView<Draft | null>}
   */
  draft() {
    const { id, core } = this;
    return new LiveView(
      core,
      { id },
      null,
      () => core.store.read((transaction) => draftOf(transaction, id), ["drafts"]),
    );
  }

  // Threads

  /**
   * Returns the threads of the conversation, those with the newest reply first. The list reads nothing until it is
   * observed.
   *
   * @param {{followed?: boolean}} [options] Whether to return only the threads that the user follows. Users follow the
   *   threads that they begin or reply in, and those in which a reply mentions them by name.
   * @returns {Threads}
   */
  threads({ followed = false } = {}) {
    return new Threads(this.core, this.id, followed);
  }

  /**
   * Follows a thread.
   *
   * @param {string} id The thread's first message.
   * @returns {Promise<SendHandle>} The server can refuse it: `unknown-message` if the message has no replies, or
   *   `not-member`.
   */
  followThread(id) {
    return this.#changeThread({ thread: id, isFollowed: true, read: null });
  }

  /**
   * Stops following a thread, until the user follows it again or replies in it.
   *
   * @param {string} id The thread's first message.
   */
  unfollowThread(id) {
    return this.#changeThread({ thread: id, isFollowed: false, read: null });
  }

  /**
   * Marks the replies of a thread as read, on all devices of the user. The unread counts of the conversation stay the
   * same: `markRead` reads the threads too.
   *
   * @param {string} id The thread's first message.
   * @param {{upTo?: string}} [options] The newest message that the user has seen; by default the newest message of the
   *   conversation.
   * @throws {ScrollbackError} `unknown-message` if that message is not stored in this browser. `unknown-conversation`
   *   if the conversation is not.
   */
  async markThreadRead(id, { upTo } = {}) {
    checkID(id);
    if (upTo !== undefined) checkID(upTo, "upTo");
    const { seq, epoch } = await this.core.readConversation(this.id, async ({ log }, transaction) => {
      if (!log) {
        throw new ScrollbackError("unknown-conversation", "The conversation is not stored in this browser yet.");
      }
      const message = upTo === undefined ? null : await messageWithID(transaction, this.id, upTo);
      if (upTo !== undefined && !message) throw unknownMessage(upTo, "upTo");
      return { seq: message?.seq ?? log.head, epoch: log.epoch };
    });
    return await this.#changeThread({ thread: id, isFollowed: null, read: { seq, epoch } });
  }

  /** @param {ThreadChange} change */
  async #changeThread(change) {
    checkID(change.thread);
    return await this.#queue(newID(), { type: "changeThread", ...change }, change.thread);
  }

  // The user's own state

  /**
   * Marks the conversation as read, on all devices of the user.
   *
   * @param {string} [id] The newest message that was shown; by default the newest message of the conversation.
   * @throws {ScrollbackError} `unknown-message` if the message is not stored in this browser. `invalid-parameter` for a
   *   room, which has no read state.
   */
  async markRead(id) {
    if (id !== undefined) checkID(id);
    this.#checkHasRecents();
    const { core } = this;
    const isChanged = await core.store.write(async (transaction) => {
      const message = id === undefined ? null : await messageWithID(transaction, this.id, id);
      if (id !== undefined && !message) {
        throw unknownMessage(id, "id");
      }
      return await markRead(transaction, core.user, this.id, message?.seq ?? null);
    });
    if (isChanged) this.#settingChanged();
  }

  /** Marks the conversation as unread, until the next read. */
  markUnread() {
    return this.#set({ type: "markUnread" });
  }

  /**
   * Turns the pushes of the conversation off or on. Unread messages are counted in either case.
   *
   * @param {boolean} isMuted
   */
  async setMuted(isMuted) {
    checkBoolean(isMuted, "isMuted");
    await this.#set({ type: "settings", isMuted, isPinned: null });
  }

  /**
   * Puts the conversation before the others in the list.
   *
   * @param {boolean} isPinned
   */
  async setPinned(isPinned) {
    checkBoolean(isPinned, "isPinned");
    await this.#set({ type: "settings", isMuted: null, isPinned });
  }

  /**
   * Selects the messages that are pushed.
   *
   * @param {NotificationLevel | null} level `null` for the user's general preference.
   */
  async setNotifications(level) {
    if (level !== null && !notificationLevels.includes(level)) {
      throw ScrollbackError.invalidParameter("level", 'must be "all", "mentions", "none" or null');
    }
    await this.#set({ type: "notifications", level });
  }

  /** Removes the conversation from the list until its next message. */
  async removeFromRecents() {
    this.#checkHasRecents();
    const isChanged = await this.core.store.write((transaction) => removeRecent(transaction, this.id));
    this.core.changed([this.id]);
    if (isChanged) this.#settingChanged();
  }

  /** @param {StateChange} change */
  async #set(change) {
    this.#checkHasRecents();
    const isChanged = await this.core.store.write((transaction) => applySetting(transaction, this.id, change));
    if (isChanged) this.#settingChanged();
  }

  #settingChanged() {
    this.core.changed([this.id]);
    this.core.post({ type: "settingChanged" });
  }

  #checkHasRecents() {
    if (ConversationID.traits(this.id).hasRecents) return;
    throw ScrollbackError.invalidParameter("conversation", "is a room, which is not in the list of conversations");
  }

  // History

  /**
   * Returns a page of history: the stored messages, and those of the server where some are missing.
   *
   * @param {HistoryQuery & {signal?: AbortSignal | undefined}} [query] A page with a filter comes from the server.
   * @returns {Promise<HistoryPage>}
   * @throws {ScrollbackError} `invalid-parameter` with the name of the argument, or the server's error. If the server
   *   can't be reached, the page has the stored messages and `remoteError`.
   */
  async history({ signal, ...query } = {}) {
    for (const name of /** @type {const} */ (["before", "after", "around"])) checkPoint(query[name], name);
    for (const name of /** @type {const} */ (["limit", "beforeLimit", "afterLimit"])) {
      if (query[name] !== undefined) checkCount(query[name], name, 0, standardLimits.pageSize);
    }
    const isFiltered = filters.some((name) => query[name] !== undefined);
    if (isFiltered || query.cursor !== undefined) return await this.#remoteHistory(query, signal);
    const { hasRecents } = ConversationID.traits(this.id);
    let hasRequestedNewest = this.core.isCurrent(this.id, hasRecents);
    for (let attempts = 0; attempts < 4;) {
      const run = await this.#localRun(query);
      let request = run.request;
      if (run.unknownPoint !== null) {
        const side = Math.max(query.limit ?? 20, 1);
        const point = run.unknownPoint;
        const start = await this.core.readConversation(this.id, (conversation) => pointToRequest(point, conversation));
        request = start === "latest"
          ? { limit: side }
          : start === "earliest"
          ? { after: start, limit: side }
          : { around: start, beforeLimit: side, afterLimit: side };
      } else if (!request && run.newer === null && !hasRequestedNewest) {
        // Messages above the local head are unknown until the connection has synced.
        hasRequestedNewest = true;
        request = { before: "latest", limit: Math.max(query.limit ?? 20, 1) };
      }
      if (!request) return pageOf(run, query);
      try {
        const { changedGaps } = await this.fetchPage(request, signal);
        attempts = changedGaps ? 0 : attempts + 1;
      } catch (error) {
        if (!allowsLocalFallback(error)) throw error;
        return { ...pageOf(run, query), remoteError: error };
      }
    }
    const remoteError = new ScrollbackError("internal-error", "The server's pages do not fill a gap in the history.");
    return { ...pageOf(await this.#localRun(query), query), remoteError };
  }

  /** @param {HistoryQuery} query */
  #localRun(query) {
    return this.core.readConversation(
      this.id,
      (conversation, transaction) => localRun(transaction, this.core.user, query, conversation),
    );
  }

  /**
   * @param {HistoryQuery} query
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<HistoryPage>}
   */
  async #remoteHistory(query, signal) {
    const { page } = await this.fetchPage(query, signal);
    const { limit } = query;
    /** @param {string | null} cursor */
    const next = (cursor) => cursor === null ? null : limit === undefined ? { cursor } : { cursor, limit };
    return { messages: [...page.messages], older: next(page.older), newer: next(page.newer), remoteError: null };
  }

  /**
   * Fetches a page from the server and stores it.
   *
   * @param {HistoryQuery} query
   * @param {AbortSignal} [signal]
   * @param {(changedGaps: boolean) => void} [stored] Called before the observers of the conversation.
   * @returns {Promise<{page: LogPage, changedGaps: boolean}>}
   */
  async fetchPage(query, signal, stored = () => {}) {
    const { fetchPage } = await this.core.remote(signal);
    return await fetchPage(this.core, this.id, query, signal, stored);
  }

  /**
   * Searches the messages of the conversation on the server.
   *
   * @param {string} text 1...256 bytes: every word must match the beginning of a word, a text in quotes as a phrase.
   * @param {{limit?: number, cursor?: string, sort?: "newestFirst" | "bestFirst", signal?: AbortSignal}} [options]
   * @returns {Promise<SearchPage>}
   */
  async search(text, { signal, ...options } = {}) {
    const { search } = await this.core.remote(signal);
    return await search(this.core, { text, conversation: this.id, ...options }, signal);
  }

  /**
   * Returns the pinned messages, at most 100, from the server.
   *
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<Message[]>}
   */
  async pins({ signal } = {}) {
    const { pins } = await this.core.remote(signal);
    return await pins(this.core, this.id, signal);
  }

  // Members; these calls need a connection

  /**
   * Returns all members.
   *
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<Member[]>}
   */
  async members({ signal } = {}) {
    const { members } = await this.core.remote(signal);
    return await members(this.core, this.id, signal);
  }

  /**
   * Adds a user, or changes the role of a member.
   *
   * @param {string} user
   * @param {{role?: string, signal?: AbortSignal}} [options]
   */
  async addMember(user, { role, signal } = {}) {
    await this.core.request({ type: "putMember", conversation: this.id, user, role }, { signal });
  }

  /**
   * Removes a member. Users can remove themselves.
   *
   * @param {string} user
   * @param {{signal?: AbortSignal}} [options]
   */
  async removeMember(user, { signal } = {}) {
    await this.core.request({ type: "removeMember", conversation: this.id, user }, { signal });
  }

  /**
   * Joins a community.
   *
   * @param {{signal?: AbortSignal}} [options]
   */
  join(options) {
    return this.addMember(this.core.user, options);
  }

  /**
   * Leaves the conversation.
   *
   * @param {{signal?: AbortSignal}} [options]
   */
  leave(options) {
    return this.removeMember(this.core.user, options);
  }

  /**
   * Changes the name, the picture or other settings. The change works offline, like a message.
   *
   * @param {JSONObject} settings The settings of `PUT /v1/conversations/{conversation}`.
   * @throws {ScrollbackError} `invalid-parameter` if the name is invalid. The server can refuse other settings: the
   *   handle then has the state `failed`.
   */
  async update(settings) {
    const operation = newID();
    /** @type {OutboxRequest} */
    const request = { type: "putConversation", operation, exists: true, settings: checkedSettings(settings) };
    return await this.#queue(operation, request, operation);
  }

  /** Deletes the conversation for everyone. */
  deleteConversation() {
    const operation = newID();
    return this.#queue(operation, { type: "deleteConversation" }, operation);
  }
}

/**
 * @param {string} id
 * @param {string} parameter
 */
const unknownMessage = (id, parameter) =>
  new ScrollbackError("unknown-message", `Message ${id} is not stored in this browser.`, { parameter });

/**
 * Checks the ID of a message, for which apps can mistake the message.
 *
 * @param {unknown} id
 * @param {string} [parameter]
 */
function checkID(id, parameter = "id") {
  if (typeof id === "string") return;
  throw ScrollbackError.invalidParameter(parameter, "must be the ID of a message, a text");
}

/**
 * Checks a setting. The local store takes any value, and the server's refusal would undo the change silently.
 *
 * @param {unknown} value
 * @param {string} parameter
 */
export function checkBoolean(value, parameter) {
  if (typeof value !== "boolean") throw ScrollbackError.invalidParameter(parameter, "must be true or false");
}

/**
 * @param {unknown} point
 * @param {string} parameter
 */
function checkPoint(point, parameter) {
  if (point === undefined || point === null || ["latest", "earliest", "firstUnread"].includes(String(point))) return;
  if (point instanceof Date ? !Number.isNaN(point.getTime()) : isPosition(point)) return;
  const reason = 'must be "latest", "earliest", "firstUnread", a valid Date, { id }, { seq } or { timetoken }';
  throw ScrollbackError.invalidParameter(parameter, reason);
}

/** @param {any} point */
const isPosition = ({ id, seq, timetoken }) =>
  typeof id === "string" || Number.isInteger(seq) || typeof timetoken === "string";

/** What no content is. */
const invalid = { type: undefined, json: undefined };

/**
 * Checks a message as the server does, and returns it without anything that JSON does not have.
 *
 * @param {string | MessageContent} given
 * @param {MessageAttributes} givenAttributes
 */
function checked(given, givenAttributes) {
  const { type, json } = typeof given === "string" ? MessageContent.text(given) : given ?? invalid;
  if (typeof type !== "string" || typeof json !== "object" || json === null) {
    throw ScrollbackError.invalidParameter("content", "must be a text, or a MessageContent with an object");
  }
  if (typeof givenAttributes !== "object" || givenAttributes === null) {
    throw ScrollbackError.invalidParameter("attributes", "must be an object");
  }
  const content = new MessageContent(type, plainJSON(json));
  const attributes = plainJSON(givenAttributes);
  checkContent(content, attributes);
  return { content, attributes };
}

/**
 * @param {MessageContent} content
 * @param {MessageAttributes} attributes
 */
function checkContent(content, attributes) {
  checkSize("content", content.json, standardLimits.contentBytes);
  for (const name of /** @type {const} */ (["metadata", "extra", "push"])) {
    if (attributes[name] !== undefined) checkSize(name, attributes[name], standardLimits.attributeBytes);
  }
  if (attributes.mentions) checkMentions(attributes.mentions);
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} limit
 */
function checkSize(name, value, limit) {
  const text = encodeJSON(value);
  // JSON escapes only halves of surrogate pairs, which the server refuses. Cutting a text can leave one.
  if (/(^|[^\\])(\\\\)*\\ud[89a-f]/.test(text)) {
    throw ScrollbackError.invalidParameter(name, "must be valid Unicode, without a half of a surrogate pair");
  }
  const size = utf8Length(text);
  if (size <= limit) return;
  const message = `${name} must be at most ${limit} bytes of JSON but has ${size}`;
  throw new ScrollbackError("too-large", message, { parameter: name, limit });
}

/**
 * Checks the name and the members as the server does, and returns the settings without anything that JSON does not
 * have.
 *
 * @param {JSONObject | null | undefined} settings
 * @returns {JSONObject}
 */
export function checkedSettings(settings) {
  /** @type {JSONObject} */
  const given = settings ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw ScrollbackError.invalidParameter("settings", "must be an object");
  }
  const { name, members } = given;
  if (name !== undefined && name !== null) checkName(/** @type {string} */ (name));
  if (members !== undefined) {
    if (!Array.isArray(members)) throw ScrollbackError.invalidParameter("members", "must be an array of IDs of users");
    if (members.length > maximumMembers) {
      throw ScrollbackError.invalidParameter("members", `must name at most ${maximumMembers} users`, maximumMembers);
    }
    for (const user of members) userID(user, "members");
  }
  return plainJSON(given);
}

/**
 * @param {string} type
 * @param {string} value
 */
function checkAction(type, value) {
  for (const [name, text, limit] of /** @type {const} */ ([["type", type, 64], ["value", value, 128]])) {
    const size = typeof text === "string" ? utf8Length(text) : 0;
    if (size < 1 || size > limit) {
      throw ScrollbackError.invalidParameter(name, `must be 1...${limit} bytes of UTF-8`, limit);
    }
  }
}

/**
 * @param {import("../store/history.js").LocalRun} run
 * @param {HistoryQuery} query
 * @returns {HistoryPage}
 */
function pageOf({ messages, older, newer }, { sort = "newestFirst", limit }) {
  const size = limit === undefined ? { sort } : { sort, limit };
  return {
    messages: sort === "newestFirst" ? messages.toReversed() : messages,
    older: older === null ? null : { ...size, before: { seq: older + 1 } },
    newer: newer === null ? null : { ...size, after: newer > 1 ? { seq: newer - 1 } : "earliest" },
    remoteError: null,
  };
}

/**
 * Whether a page falls back to stored messages after an error of the server.
 *
 * @param {unknown} error
 * @returns {error is ScrollbackError}
 */
const allowsLocalFallback = (error) =>
  error instanceof ScrollbackError && (error.isTemporary || error.code === "persistence-disabled");
