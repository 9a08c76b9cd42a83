// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { compareText } from "../model/text.js";
import { TokenBucket } from "../model/token-bucket.js";
import { Backoff } from "./backoff.js";
import { outboxItem } from "./outbox-item.js";

/** @typedef {import("../model/conversation-id.js").ConversationID} ConversationID */
/** @typedef {import("../model/message-id.js").MessageID} MessageID */
/** @typedef {import("../model/token-bucket.js").SendPace} SendPace */
/** @typedef {import("./backoff.js").Random} Random */
/** @typedef {import("./outbox-item.js").OutboxItem} OutboxItem */
/** @typedef {import("./outbox-item.js").OutboxState} OutboxState */

/**
 * The effects of an event.
 *
 * @typedef {object} OutboxEffects
 * @property {readonly OutboxItem[]} changed The items to store before anything is transmitted.
 * @property {readonly MessageID[]} removed The items to delete because they were answered or cancelled.
 * @property {readonly MessageID[]} upload The items whose uploads start.
 * @property {readonly MessageID[]} stopUpload The items whose uploads must be stopped because they were cancelled.
 * @property {readonly MessageID[]} transmit The items to transmit, in this order.
 * @property {number | null} wakeAt The time to call `tick`.
 */

/**
 * The result of cancelling an item.
 *
 * - `cancelled`: the item was never transmitted and never will be
 * - `mayHaveBeenStored`: the item will not be sent again, but an earlier attempt may have stored the message: a recall
 *   is required
 * - `inFlight`: the item is in flight, and its answer decides
 * - `unknown`: the outbox has no such item
 *
 * @typedef {"cancelled" | "mayHaveBeenStored" | "inFlight" | "unknown"} Cancellation
 */

/** The effects of an event so far. */
class Steps {
  /** @type {Set<MessageID>} */
  touched = new Set();
  /** @type {MessageID[]} */
  removed = [];
  /** @type {MessageID[]} */
  upload = [];
  /** @type {MessageID[]} */
  stopUpload = [];
  /** @type {MessageID[]} */
  transmit = [];
}

/**
 * @param {OutboxItem} a
 * @param {OutboxItem} b
 */
const byOrdinal = (a, b) => a.ordinal - b.ordinal;

/** @param {OutboxItem} item */
const isFailed = (item) => item.state.type === "failed";

/** @type {OutboxState} */
const queued = Object.freeze({ type: "queued" });

/**
 * The state machine for messages and changes that the server has not acknowledged yet.
 *
 * Each conversation has a queue, in which items are sent in order and one at a time. An item keeps its ID until the
 * server answers, and messages respect the send rate.
 *
 * The files of a message are uploaded first. Several uploads run at a time, in the order the messages were queued,
 * regardless of earlier items in the queue.
 *
 * The input is events and the output is {@link OutboxEffects}. The caller must store `changed` and `removed` before it
 * transmits anything. An item that may have reached the server is therefore always stored as transmitted.
 */
export class Outbox {
  /** The time in milliseconds for which the server remembers an ID, and for which sending it again is safe. */
  static get lifetime() {
    return 180 * 24 * 60 * 60 * 1000;
  }
  /** The minimum time in milliseconds between two repeated uploads of the same files. */
  static get minimumReuploadInterval() {
    return 60 * 60 * 1000;
  }
  /** The maximum number of items that upload at the same time. */
  static get maximumUploads() {
    return 3;
  }

  /**
   * The items of each conversation, in ascending order of their ordinals.
   *
   * @type {Map<ConversationID, OutboxItem[]>}
   */
  #queues = new Map();
  /** @type {Map<MessageID, ConversationID>} */
  #conversations = new Map();
  #lastOrdinal = 0;
  #backoff = new Backoff();
  /**
   * The items whose files are not uploaded yet.
   *
   * @type {Set<MessageID>}
   */
  #awaitingUpload = new Set();
  /**
   * The items whose uploads began before the server accepted a change of their conversation. The server may have
   * refused such an upload before it created the conversation.
   *
   * @type {Set<MessageID>}
   */
  #uploadsBeforeChange = new Set();
  /**
   * The times when lost files were uploaded again.
   *
   * @type {Map<MessageID, number>}
   */
  #reuploadedAt = new Map();
  /**
   * The token bucket of the send rate.
   *
   * @type {TokenBucket | null}
   */
  #pace = null;
  /** Whether the send rate delays a message. */
  #isThrottled = false;
  /**
   * The token bucket for accepting messages, if messages above the send rate fail.
   *
   * @type {TokenBucket | null}
   */
  #acceptance = null;

  isConnected = false;

  /**
   * Creates an outbox from stored items.
   *
   * Items that were in flight when the page ended are queued again with the same ID.
   *
   * @param {Iterable<OutboxItem>} [items]
   * @param {SendPace | null} [pace] The send rate; `null` for no limit.
   */
  constructor(items = [], pace = null) {
    if (pace !== null) {
      this.#pace = new TokenBucket(pace.perSecond, pace.burst);
      if (pace.excess === "fails") this.#acceptance = this.#pace.copy();
    }
    for (const item of items) this.#adopt(item);
    for (const queue of this.#queues.values()) queue.sort(byOrdinal);
  }

  /** @param {OutboxItem} item */
  #adopt(item) {
    const isInterrupted = item.state.type === "sending" || item.state.type === "uploading";
    if (item.needsUpload) this.#awaitingUpload.add(item.id);
    this.#queue(item.conversation).push(isInterrupted ? { ...item, state: queued } : item);
    this.#conversations.set(item.id, item.conversation);
    this.#lastOrdinal = Math.max(this.#lastOrdinal, item.ordinal);
  }

  /** @param {ConversationID} conversation */
  #queue(conversation) {
    const queue = this.#queues.get(conversation) ?? [];
    this.#queues.set(conversation, queue);
    return queue;
  }

  /**
   * Restores a removed item that is still in the store, in its original order.
   *
   * @param {OutboxItem} item
   */
  restore(item) {
    if (this.#conversations.has(item.id)) return;
    this.#adopt(item);
    this.#queue(item.conversation).sort(byOrdinal);
  }

  get isEmpty() {
    return this.#conversations.size === 0;
  }

  /** All items in the order they were queued. */
  get items() {
    return [...this.#queues.values()].flat().sort(byOrdinal);
  }

  /**
   * Returns an item.
   *
   * @param {MessageID} id
   * @returns {OutboxItem | null}
   */
  get(id) {
    const conversation = this.#conversations.get(id);
    if (conversation === undefined) return null;
    return this.#queues.get(conversation)?.find((item) => item.id === id) ?? null;
  }

  // Queueing

  /**
   * Queues an item at the end of its conversation's queue. An ID that is already queued is ignored.
   *
   * @param {MessageID} id
   * @param {ConversationID} conversation
   * @param {number} now
   * @param {{ isMessage?: boolean, needsUpload?: boolean }} [options] Whether the item is a message and not a change of
   *   one (by default it is), and whether it has files to upload first.
   * @returns {OutboxEffects}
   */
  enqueue(id, conversation, now, { isMessage = true, needsUpload = false } = {}) {
    const steps = new Steps();
    if (!this.#conversations.has(id)) {
      this.#lastOrdinal += 1;
      const refusal = isMessage ? this.#refusal(now) : null;
      const item = outboxItem({
        id,
        conversation,
        ordinal: this.#lastOrdinal,
        createdAt: now,
        isMessage,
        needsUpload,
        state: refusal === null ? queued : { type: "failed", error: refusal },
      });
      this.#queue(conversation).push(item);
      this.#conversations.set(id, conversation);
      if (needsUpload) this.#awaitingUpload.add(id);
      steps.touched.add(id);
      this.#pump(conversation, now, steps);
    }
    return this.#effects(steps);
  }

  /**
   * Queues a stored item in its original order, with its stored state.
   *
   * @param {OutboxItem} item
   * @param {number} now
   * @returns {OutboxEffects}
   */
  requeue(item, now) {
    this.restore(item);
    const steps = new Steps();
    steps.touched.add(item.id);
    this.#pump(item.conversation, now, steps);
    return this.#effects(steps);
  }

  /**
   * Returns the error for a message above the send rate if such messages fail.
   *
   * @param {number} now
   */
  #refusal(now) {
    const acceptance = this.#acceptance;
    if (acceptance === null || acceptance.take(now)) return null;
    return new ScrollbackError("rate-limited", `The limit is ${acceptance.perSecond} messages per second.`, {
      limit: Math.trunc(acceptance.perSecond),
      retryAfter: acceptance.wait() / 1000,
    });
  }

  // The connection and time

  /**
   * @param {number} now
   * @returns {OutboxEffects}
   */
  connected(now) {
    this.isConnected = true;
    const steps = new Steps();
    // Failed uploads are retried now, since the connection was probably the cause. Messages keep the server's delay.
    for (const id of [...this.#awaitingUpload].sort(compareText)) {
      if (this.get(id)?.state.type === "waiting") this.#update(id, { state: queued }, steps);
    }
    this.#pumpAll(now, steps);
    return this.#effects(steps);
  }

  /**
   * Queues all items in flight again with the same IDs, because their outcome is unknown.
   *
   * @returns {OutboxEffects}
   */
  disconnected() {
    this.isConnected = false;
    const steps = new Steps();
    for (const item of this.items) {
      if (item.state.type === "sending") this.#update(item.id, { state: queued }, steps);
    }
    return this.#effects(steps);
  }

  /**
   * Handles the passing of time.
   *
   * @param {number} now
   * @returns {OutboxEffects}
   */
  tick(now) {
    const steps = new Steps();
    this.#pumpAll(now, steps);
    return this.#effects(steps);
  }

  // Answers

  /**
   * Handles the server's answer for an item, from this connection or an earlier one.
   *
   * A success is always accepted. An error counts only while the item is in flight. After a temporary error, the item
   * stays at the head of its queue, so that no other item overtakes it. A request without an answer is not an error:
   * {@link Outbox.disconnected} queues the item again.
   *
   * @param {MessageID} id
   * @param {ScrollbackError | null} error The error; `null` for a success.
   * @param {number} now
   * @param {Random} random
   * @returns {OutboxEffects}
   */
  answered(id, error, now, random) {
    const steps = new Steps();
    const item = this.get(id);
    if (item === null || (error !== null && item.state.type !== "sending")) return this.#effects(steps);
    if (error === null) {
      this.#remove(id, steps);
      const others = item.isMessage ? [] : this.#queues.get(item.conversation) ?? [];
      for (const other of others) if (other.state.type === "uploading") this.#uploadsBeforeChange.add(other.id);
    } else {
      this.#update(id, { state: this.#stateAfter(error, item, now, random) }, steps);
    }
    this.#pump(item.conversation, now, steps);
    return this.#effects(steps);
  }

  /**
   * Handles the end of an item's upload. The result of a stopped upload is ignored. An upload that the server refused
   * because it did not know the conversation is repeated if the server has accepted a change of the conversation since
   * the upload began.
   *
   * @param {MessageID} id
   * @param {ScrollbackError | null} error The error; `null` for a success.
   * @param {number} now
   * @param {Random} random
   * @returns {OutboxEffects}
   */
  uploaded(id, error, now, random) {
    const steps = new Steps();
    const item = this.get(id);
    if (item === null || item.state.type !== "uploading") return this.#effects(steps);
    if (error === null) {
      this.#awaitingUpload.delete(id);
      this.#update(id, { state: queued, needsUpload: false, attempts: 0 }, steps);
    } else {
      const isOutdated = error.code === "unknown-conversation" && this.#uploadsBeforeChange.has(id);
      const state = this.#stateAfter(error, item, now, random, error.isTemporary || isOutdated);
      this.#update(id, { state }, steps);
    }
    this.#pump(item.conversation, now, steps);
    return this.#effects(steps);
  }

  /**
   * Uploads the files of an item in flight again with the same IDs, because the server no longer has them.
   *
   * The server deletes files without a message after a day, and the device may have been offline for longer.
   *
   * @param {MessageID} id
   * @param {number} now
   * @returns {OutboxEffects | null} `null` if the files were already uploaded again within
   *   {@link Outbox.minimumReuploadInterval}, since another upload does not help.
   */
  reupload(id, now) {
    const item = this.get(id);
    const earlier = this.#reuploadedAt.get(id);
    if (item === null || item.state.type !== "sending") return null;
    if (earlier !== undefined && now - earlier < Outbox.minimumReuploadInterval) return null;
    const steps = new Steps();
    this.#reuploadedAt.set(id, now);
    this.#awaitingUpload.add(id);
    this.#update(id, { state: queued, needsUpload: true, attempts: 0 }, steps);
    this.#pump(item.conversation, now, steps);
    return this.#effects(steps);
  }

  /**
   * Returns the state of an item after an error.
   *
   * The delay is the backoff, but at least the server's `retryAfter` plus up to half of it. The jitter spreads the
   * retries of many clients.
   *
   * @param {ScrollbackError} error
   * @param {OutboxItem} item
   * @param {number} now
   * @param {Random} random
   * @param {boolean} [isTemporary]
   * @returns {OutboxState}
   */
  #stateAfter(error, item, now, random, isTemporary = error.isTemporary) {
    if (!isTemporary) return { type: "failed", error };
    const wait = this.#backoff.wait(item.attempts, random);
    if (error.retryAfter === undefined) return { type: "waiting", until: now + wait };
    return { type: "waiting", until: now + Math.max(wait, error.retryAfter * 1000 * (1 + 0.5 * random())) };
  }

  /**
   * Retries an item immediately, with the same ID and in the same order.
   *
   * @param {MessageID} id
   * @param {number} now
   * @returns {OutboxEffects}
   */
  retry(id, now) {
    const steps = new Steps();
    const item = this.get(id);
    if (item === null) return this.#effects(steps);
    if (item.state.type === "waiting" || item.state.type === "failed") this.#update(id, { state: queued }, steps);
    this.#pump(item.conversation, now, steps);
    return this.#effects(steps);
  }

  /**
   * Removes an item unless it is in flight.
   *
   * @param {MessageID} id
   * @param {number} now
   * @returns {{ cancellation: Cancellation, effects: OutboxEffects }}
   */
  cancel(id, now) {
    const steps = new Steps();
    const item = this.get(id);
    if (item === null) return { cancellation: "unknown", effects: this.#effects(steps) };
    if (item.state.type === "sending") return { cancellation: "inFlight", effects: this.#effects(steps) };
    if (item.state.type === "uploading") steps.stopUpload.push(id);
    this.#remove(id, steps);
    this.#pump(item.conversation, now, steps);
    return { cancellation: item.wasTransmitted ? "mayHaveBeenStored" : "cancelled", effects: this.#effects(steps) };
  }

  // Steps

  /**
   * @param {Steps} steps
   * @returns {OutboxEffects}
   */
  #effects(steps) {
    return {
      changed: [...steps.touched].map((id) => this.get(id)).filter((item) => item !== null),
      removed: steps.removed,
      upload: steps.upload,
      stopUpload: steps.stopUpload,
      transmit: steps.transmit,
      wakeAt: this.wakeAt,
    };
  }

  /** The first item of each queue that did not fail. */
  get #heads() {
    return [...this.#queues.values()].map((queue) => queue.find((item) => !isFailed(item)));
  }

  /**
   * The time when the first waiting item can continue; `null` if none waits.
   *
   * Queues wait for the delay of their last error, uploads for their retry, and messages for the send rate.
   *
   * @returns {number | null}
   */
  get wakeAt() {
    if (!this.isConnected) return null;
    const uploads = [...this.#awaitingUpload].map((id) => this.get(id));
    /** @type {number[]} */
    const times = [];
    for (const item of [...this.#heads, ...uploads]) if (item?.state.type === "waiting") times.push(item.state.until);
    if (this.#isThrottled && this.#pace !== null && this.#pace.filledAt !== null) {
      times.push(this.#pace.filledAt + this.#pace.wait());
    }
    return times.length === 0 ? null : Math.min(...times);
  }

  /**
   * @param {MessageID} id
   * @param {Partial<OutboxItem>} change
   * @param {Steps} steps
   */
  #update(id, change, steps) {
    const conversation = this.#conversations.get(id);
    const queue = conversation === undefined ? [] : this.#queue(conversation);
    const index = queue.findIndex((item) => item.id === id);
    const item = queue[index];
    if (item === undefined) return;
    queue[index] = { ...item, ...change };
    steps.touched.add(id);
  }

  /**
   * @param {MessageID} id
   * @param {Steps} steps
   */
  #remove(id, steps) {
    const conversation = this.#conversations.get(id);
    if (conversation === undefined) return;
    this.#conversations.delete(id);
    const rest = this.#queue(conversation).filter((item) => item.id !== id);
    if (rest.length > 0) this.#queues.set(conversation, rest);
    else this.#queues.delete(conversation);
    this.#awaitingUpload.delete(id);
    this.#uploadsBeforeChange.delete(id);
    this.#reuploadedAt.delete(id);
    steps.removed.push(id);
  }

  /**
   * Continues a queue after an event.
   *
   * @param {ConversationID} conversation
   * @param {number} now
   * @param {Steps} steps
   */
  #pump(conversation, now, steps) {
    // If the send rate delays messages, they are sent in the order of all conversations together.
    if (this.#isThrottled) {
      this.#pumpAll(now, steps);
    } else {
      this.#pumpQueue(conversation, now, steps);
      this.#pumpUploads(now, steps);
    }
  }

  /**
   * @param {number} now
   * @param {Steps} steps
   */
  #pumpAll(now, steps) {
    this.#isThrottled = false;
    const heads = this.#heads.filter((item) => item !== undefined).sort(byOrdinal);
    for (const { conversation } of heads) this.#pumpQueue(conversation, now, steps);
    this.#pumpUploads(now, steps);
  }

  /**
   * Starts uploads for the items that were queued first.
   *
   * @param {number} now
   * @param {Steps} steps
   */
  #pumpUploads(now, steps) {
    if (!this.isConnected || this.#awaitingUpload.size === 0) return;
    const waiting = [...this.#awaitingUpload].map((id) => this.get(id)).filter((item) => item !== null).sort(byOrdinal);
    let running = waiting.filter((item) => item.state.type === "uploading").length;
    for (const item of waiting) {
      const isDue = item.state.type === "queued" || (item.state.type === "waiting" && item.state.until <= now);
      if (running >= Outbox.maximumUploads || !isDue) continue;
      this.#update(item.id, { state: { type: "uploading" }, attempts: item.attempts + 1 }, steps);
      this.#uploadsBeforeChange.delete(item.id);
      steps.upload.push(item.id);
      running += 1;
    }
  }

  /**
   * Transmits the first item of a queue if it is due and nothing in the queue is in flight.
   *
   * @param {ConversationID} conversation
   * @param {number} now
   * @param {Steps} steps
   */
  #pumpQueue(conversation, now, steps) {
    if (!this.isConnected) return;
    for (;;) {
      const queue = this.#queues.get(conversation) ?? [];
      const head = queue.find((item) => !isFailed(item));
      if (head === undefined || head.needsUpload || queue.some((item) => item.state.type === "sending")) return;
      if (head.state.type === "waiting" && now < head.state.until) return;
      if (now - head.createdAt > Outbox.lifetime) {
        const message = "The message was queued more than 180 days ago; send it as a new message.";
        this.#update(head.id, { state: { type: "failed", error: new ScrollbackError("expired", message) } }, steps);
        continue;
      }
      if (head.isMessage && this.#pace !== null && !this.#pace.take(now)) {
        this.#isThrottled = true;
        return;
      }
      this.#update(head.id, { attempts: head.attempts + 1, wasTransmitted: true, state: { type: "sending" } }, steps);
      steps.transmit.push(head.id);
    }
  }
}
