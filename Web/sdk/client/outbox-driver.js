// @ts-check
import { decodeCounter, decodeMessage, decodeObject, decodePage, decodeText } from "../model/decode.js";
import { ScrollbackError } from "../model/errors.js";
import { MessageContent } from "../model/message-content.js";
import { Message } from "../model/message.js";
import { epoch, timetoken } from "../model/timetoken.js";
import {
  creationError,
  fileOf,
  outboxItemOf,
  outboxRequest,
  queuedIDs,
  removeFromOutbox,
  saveOutboxItem,
  saveUploadProgress,
} from "../store/outbox.js";
import { deleteConversation } from "../store/heads.js";
import { messageWithID } from "../store/history.js";
import { apply } from "../store/log.js";
import { OpenConversation } from "../store/records.js";
import { saveThreadState } from "../store/threads.js";
import { decodeThreadState, getHistory } from "../wire/requests.js";
import { outboxFrame } from "./outbox-frames.js";
import { Uploads } from "./uploads.js";

/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../store/log.js").LogInput} LogInput */
/** @typedef {import("../store/log.js").LogOutcome} LogOutcome */
/** @typedef {import("../store/outbox.js").OutboxRequest} OutboxRequest */
/** @typedef {import("../sync/outbox.js").Outbox} Outbox */
/** @typedef {import("../sync/outbox.js").OutboxEffects} OutboxEffects */
/** @typedef {import("../sync/outbox.js").Cancellation} Cancellation */
/** @typedef {import("../sync/outbox-item.js").OutboxItem} OutboxItem */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Driver} Driver */

/** Carries out the effects of the `Outbox`, and reports their results back to it. */
export class OutboxDriver {
  #driver;
  #outbox;
  #uploads;
  /** The time of the next scheduled call of `tick`. @type {number | null} */
  #wakesAt = null;
  /** The items of tabs that could not be read. @type {string[]} */
  #unread = [];

  /**
   * @param {Driver} driver
   * @param {Outbox} outbox
   */
  constructor(driver, outbox) {
    this.#driver = driver;
    this.#outbox = outbox;
    this.#uploads = new Uploads(driver.core);
  }

  /** Stops the uploads. */
  close() {
    this.#uploads.end();
  }

  get #core() {
    return this.#driver.core;
  }

  async connected() {
    for (const id of this.#unread.splice(0)) await this.queued(id);
    // If the store failed again, the connection is gone.
    if (this.#driver.isOnline) await this.#perform(this.#outbox.connected(this.#driver.now));
  }

  async disconnected() {
    await this.#perform(this.#outbox.disconnected());
  }

  /** @param {number} now */
  async tick(now) {
    this.#wakesAt = null;
    await this.#perform(this.#outbox.tick(now));
  }

  /**
   * Sends an item that a tab has stored. If it can't be read now, the next connection sends it.
   *
   * @param {string} id
   */
  async queued(id) {
    try {
      const item = await this.#core.store.read((transaction) => outboxItemOf(transaction, id), ["outbox"]);
      // The tab's notice may arrive after the item was sent.
      if (!item || this.#outbox.get(id)) return;
      if (item.isMessage) this.#driver.live.sent(item.conversation);
      await this.requeue(item);
    } catch (error) {
      this.#unread.push(id);
      await this.#driver.storeFailed(error);
    }
  }

  /**
   * Sends the items that a tab has stored, but did not report.
   *
   * @returns {Promise<boolean>} Whether there were any.
   */
  async queuedWithoutNotice() {
    const ids = await this.#core.store.read(queuedIDs, ["outbox"]);
    const unknown = ids.filter((id) => !this.#outbox.get(id));
    for (const id of unknown) await this.queued(id);
    return unknown.length > 0;
  }

  /**
   * Handles the end of an upload.
   *
   * @param {string} id
   * @param {ScrollbackError | null} error
   */
  async uploaded(id, error) {
    const { now, random } = this.#driver;
    const reason = await this.#reasonOf(error, id);
    await this.#perform(this.#outbox.uploaded(id, reason, now, random));
    const item = this.#outbox.get(id);
    if (item && !reason?.isTemporary) await this.#fetchHeadIfGone(item.conversation, error);
  }

  /** @param {OutboxItem} item */
  async requeue(item) {
    await this.#perform(this.#outbox.requeue(item, this.#driver.now));
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>} Whether the item is in the outbox.
   */
  async retry(id) {
    const isQueued = this.#outbox.get(id) !== null;
    await this.#perform(this.#outbox.retry(id, this.#driver.now));
    return isQueued;
  }

  /**
   * Cancels an item.
   *
   * @param {string} id
   * @returns {Promise<Cancellation>}
   * @throws {ScrollbackError} `local-storage` if the item could not be deleted. It then stays in the outbox.
   */
  async cancel(id) {
    const item = this.#outbox.get(id);
    if (!item) return "unknown";
    const [request, file] = await this.#core.store.read((transaction) =>
      Promise.all([outboxRequest(transaction, id), fileOf(transaction, id)])
    );
    const { cancellation, effects } = this.#outbox.cancel(id, this.#driver.now);
    if (!await this.#perform(effects)) {
      this.#outbox.restore(item);
      throw new ScrollbackError("local-storage", "The message can't be deleted from this device's store.");
    }
    if (effects.removed.length > 0 && request) await this.#undo(request, item.conversation);
    if (file?.upload && !file.isDone) this.#uploads.abandon(file.upload);
    this.#core.changed([item.conversation]);
    return cancellation;
  }

  /**
   * Stores the changed items, and then transmits. An item that may have reached the server is therefore always stored
   * as transmitted.
   *
   * @param {OutboxEffects} effects
   * @returns {Promise<boolean>} Whether the changes were stored. If not, nothing was transmitted and the connection
   *   starts over.
   */
  async #perform({ changed, removed, upload, stopUpload, transmit, wakeAt }) {
    for (const id of stopUpload) this.#uploads.stop(id);
    if (changed.length + removed.length + transmit.length > 0) {
      try {
        const requests = await this.#core.store.write(async (transaction) => {
          for (const item of changed) await saveOutboxItem(transaction, item);
          for (const id of removed) removeFromOutbox(transaction, id);
          return await Promise.all(transmit.map((id) => outboxRequest(transaction, id)));
        }, { changesOutbox: removed.length > 0, stores: ["outbox", "files"] });
        for (const [index, request] of requests.entries()) {
          const item = this.#outbox.get(transmit[index] ?? "");
          if (request && item) {
            this.#driver.send(
              outboxFrame(item.conversation, request),
              (answer, since) => this.#answered(item, request, answer, since),
            );
          }
        }
        for (const id of removed) this.#core.uploadEnded(id);
        for (const id of upload) this.#uploads.start(id, this.#outbox.get(id)?.conversation ?? "");
        this.#core.changed(changed.map(({ conversation }) => conversation));
      } catch (error) {
        await this.#driver.storeFailed(error);
        // The uploads never began. The next connection starts them.
        const failure = new ScrollbackError("unreachable", "The browser's storage failed.", { cause: error });
        for (const id of upload) this.#outbox.uploaded(id, failure, this.#driver.now, this.#driver.random);
        return false;
      }
    }
    if (wakeAt !== null && (this.#wakesAt === null || wakeAt < this.#wakesAt)) {
      this.#wakesAt = wakeAt;
      this.#driver.wake(wakeAt);
    }
    return true;
  }

  /**
   * Undoes the effect that a request had on the store when it was queued, after it was refused or cancelled.
   *
   * @param {OutboxRequest} request
   * @param {string} id
   */
  async #undo(request, id) {
    if (request.type !== "putConversation" || request.exists !== false) return;
    await this.#core.store.write(async (transaction) => {
      const { log } = await OpenConversation.load(transaction, id);
      // A conversation whose log is known exists, and stays.
      if (!log) deleteConversation(transaction, id);
    });
    this.#core.changed([id]);
  }

  /**
   * @param {OutboxItem} item
   * @param {OutboxRequest} request
   * @param {Answer} answer
   * @param {number} since The number of deletions before the request.
   */
  async #answered({ id, conversation }, request, answer, since) {
    const { now, random } = this.#driver;
    let { error } = answer;
    // A conversation that doesn't exist was deleted, by this request or before.
    if (error?.code === "unknown-conversation" && request.type === "deleteConversation") error = null;
    // A timeout is not a rejection: the message may be stored. A new connection sends it again with the same ID.
    if (error?.code === "timeout") return await this.#driver.dropConnection();
    if (!error && !await this.#store(id, conversation, request, since, answer.body ?? {})) return;
    if (error?.code === "unknown-media" && await this.#reupload(id)) return;
    // Another device of the user sent the message first, in an older or newer version.
    if (error?.code === "conflict" && await this.#removeIfStored(id, conversation)) error = null;
    if (error?.code === "unknown-media" && request.type === "send") error = missingFile(error);
    const reason = await this.#reasonOf(error, id);
    await this.#perform(this.#outbox.answered(id, reason, now, random));
    if (this.#outbox.get(id)?.state.type === "failed") await this.#undo(request, conversation);
    if (!reason?.isTemporary) await this.#fetchHeadIfGone(conversation, error);
  }

  /**
   * Returns the error to use for a refused item. The server does not know a conversation that it refused to create, or
   * whose creation is still queued.
   *
   * @param {ScrollbackError | null} error
   * @param {string} id
   */
  async #reasonOf(error, id) {
    const item = this.#outbox.get(id);
    if (error?.code !== "unknown-conversation" || !item) return error;
    return await this.#core.store.read((transaction) => creationError(transaction, item), ["outbox"]) ?? error;
  }

  /**
   * Fetches the head of a refused item's conversation if the server does not know the conversation.
   *
   * A conversation that the server deleted or lost is deleted when its last queued message has failed.
   *
   * @param {string} conversation
   * @param {ScrollbackError | null} error
   */
  async #fetchHeadIfGone(conversation, error) {
    if (error?.code !== "unknown-conversation") return;
    this.#driver.sync.fetchHeads([conversation]);
    await this.#driver.sync.recoverFromRollback();
  }

  /**
   * Removes messages that failed in this browser, and that another device of the user sent. Both send a message that
   * the server lost, but only one may have its file.
   *
   * @param {readonly Message[]} messages
   */
  async removeStored(messages) {
    const { now, random } = this.#driver;
    for (const { id, sender } of messages) {
      if (sender !== this.#core.user || this.#outbox.get(id)?.state.type !== "failed") continue;
      await this.#core.store.write((transaction) => removeFromOutbox(transaction, id), { changesOutbox: true });
      await this.#perform(this.#outbox.answered(id, null, now, random));
    }
  }

  /**
   * Removes a message from the outbox if the log has it.
   *
   * @param {string} id
   * @param {string} conversation
   * @returns {Promise<boolean>} Whether the log has it.
   */
  async #removeIfStored(id, conversation) {
    const isStored = await this.#core.store.write(async (transaction) => {
      const message = await messageWithID(transaction, conversation, id);
      if (message?.sender !== this.#core.user) return false;
      removeFromOutbox(transaction, id);
      return true;
    }, { changesOutbox: true });
    this.#core.changed([conversation]);
    return isStored;
  }

  /**
   * Uploads the file of a message again, if the server no longer has it.
   *
   * @param {string} id
   * @returns {Promise<boolean>} Whether the message has a file to upload.
   */
  async #reupload(id) {
    const progress = { upload: null, isDone: false };
    if (!await this.#core.store.write((transaction) => saveUploadProgress(transaction, id, progress))) return false;
    const effects = this.#outbox.reupload(id, this.#driver.now);
    if (effects) await this.#perform(effects);
    return effects !== null;
  }

  /**
   * Applies an answer to the log, in the transaction that removes the request from the outbox.
   *
   * @param {string} id
   * @param {string} conversation
   * @param {OutboxRequest} request
   * @param {number} since
   * @param {JSONObject} body
   * @returns {Promise<boolean>} `false` if the message was already stored earlier and may have been changed since. It
   *   must be read from the server.
   */
  async #store(id, conversation, request, since, body) {
    const { user, store } = this.#core;
    const { outcome, outdated } = await store.write(async (transaction) => {
      // An edit of the unsent message may have replaced its content since the request was read.
      const current = await outboxRequest(transaction, id) ?? request;
      let input = inputOf(current, conversation, user, body);
      if (input?.type === "sent") {
        const { log } = await OpenConversation.load(transaction, conversation);
        if (log?.isOutdated(input.message, input.message.rev)) return { outcome: null, outdated: input.message };
        // The message was deleted with its log. The conversation was created again and has a new one.
        if (log && log.epoch !== input.message.epoch && this.#driver.deletions.includes(conversation, since)) {
          input = null;
        }
      }
      removeFromOutbox(transaction, id);
      if (request.type === "deleteConversation") deleteConversation(transaction, conversation);
      if (request.type === "changeThread") await saveThreadState(transaction, conversation, decodeThreadState(body));
      const outcomes = input ? await apply(transaction, user, [input]) : [];
      return { outcome: outcomes[0] ?? null, outdated: null };
    }, { changesOutbox: true });
    if (outdated) {
      const page = getHistory(conversation, { before: { seq: outdated.seq + 1 }, limit: 1 });
      this.#driver.send(page, (answer) => this.#alreadyStored(id, conversation, answer));
      return false;
    }
    this.#core.changed([conversation]);
    // A stored message of another user may follow the sent one.
    if (outcome) this.#core.reportDelivered([outcome]);
    if (outcome) this.#driver.sync.requestMissing(outcome);
    else if (!["send", "schedule", "deleteConversation", "changeThread"].includes(request.type)) {
      await this.#driver.sync.recheck([conversation]);
    }
    return true;
  }

  /**
   * Stores the current state of a message that was sent earlier, and removes it from the outbox.
   *
   * @param {string} id
   * @param {string} conversation
   * @param {Answer} answer
   */
  async #alreadyStored(id, conversation, { body, error }) {
    const { now, random } = this.#driver;
    if (error?.code === "timeout") return await this.#driver.dropConnection();
    // The message is sent again after a delay, which has no effect on the server.
    if (error?.isTemporary) return await this.#perform(this.#outbox.answered(id, error, now, random));
    const outcomes = await this.#core.store.write(async (transaction) => {
      removeFromOutbox(transaction, id);
      // Without permission to read the conversation, there is no message to show.
      if (!body) return [];
      return await apply(transaction, this.#core.user, [{ type: "page", conversation, page: decodePage(body) }]);
    }, { changesOutbox: true });
    this.#core.changed([conversation]);
    this.#core.reportDelivered(outcomes);
    for (const outcome of outcomes) this.#driver.sync.requestMissing(outcome);
    await this.#perform(this.#outbox.answered(id, null, now, random));
    return undefined;
  }
}

/**
 * The error of a message that can't be sent because the server lacks its file, which this browser can't upload again.
 *
 * @param {ScrollbackError} cause
 */
function missingFile(cause) {
  const message = "The server has no file of this message that you may send, and the file is not stored in this " +
    "browser. Delete the message and send the file again.";
  return new ScrollbackError("unknown-media", message, { parameter: cause.parameter, cause });
}

/**
 * Returns the input that applies an answer to the log, if any.
 *
 * @param {OutboxRequest} request
 * @param {string} conversation
 * @param {string} sender
 * @param {JSONObject} body
 * @returns {LogInput | null}
 */
function inputOf(request, conversation, sender, body) {
  if (request.type === "edit") {
    const message = decodeMessage(body["message"]);
    const change = /** @type {const} */ ({ type: "message", rev: message.rev, message });
    return { type: "live", event: { type: "changed", conversation, epoch: message.epoch, change } };
  }
  // A message that is not stored has no position.
  if (request.type !== "send" || body["seq"] === undefined) return null;
  const { id, content, attributes } = request.submission;
  const filtered = body["content"] === undefined ? content.json : decodeObject(body["content"], "content");
  return {
    type: "sent",
    message: new Message({
      conversation,
      seq: decodeCounter(body, "seq"),
      countedIndex: decodeCounter(body, "n"),
      id,
      timetoken: timetoken(decodeText(body, "timetoken")),
      epoch: epoch(decodeText(body, "epoch")),
      sender,
      type: content.type,
      content: new MessageContent(content.type, filtered),
      attributes,
      thread: body["thread"] === undefined ? null : decodeText(body, "thread"),
    }),
  };
}
