// @ts-check
import { ConversationID } from "../model/conversation-id.js";

/** @typedef {import("../model/text.js").UserID} UserID */

/**
 * The state machine for sending this user's typing status.
 *
 * The client notifies the server when typing starts, every few seconds while it continues, and when it ends. Typing
 * also ends by itself after a timeout.
 */
export class OwnTyping {
  /** The interval in milliseconds between notifications while typing continues. */
  static get interval() {
    return 3000;
  }
  /** The time in milliseconds after the last keystroke when typing ends. */
  static get timeout() {
    return 5000;
  }

  /** @type {Map<ConversationID, { notifiedAt: number, typedAt: number }>} */
  #entries = new Map();

  /**
   * Records that the user typed.
   *
   * @param {ConversationID} id
   * @param {number} now
   * @returns {boolean} Whether to notify the server.
   */
  typed(id, now) {
    const entry = this.#entries.get(id);
    if (entry === undefined) {
      this.#entries.set(id, { notifiedAt: now, typedAt: now });
      return true;
    }
    entry.typedAt = now;
    const isDue = now - entry.notifiedAt >= OwnTyping.interval;
    if (isDue) entry.notifiedAt = now;
    return isDue;
  }

  /**
   * Records that the user stopped typing.
   *
   * @param {ConversationID} id
   * @returns {boolean} Whether to notify the server.
   */
  stopped(id) {
    return this.#entries.delete(id);
  }

  /**
   * Ends typing because a message was sent, which itself shows that typing ended.
   *
   * @param {ConversationID} id
   */
  sent(id) {
    this.#entries.delete(id);
  }

  /**
   * Handles the passing of time.
   *
   * @param {number} now
   * @returns {ConversationID[]} The conversations in which typing timed out.
   */
  tick(now) {
    const quiet = [...this.#entries].filter(([, entry]) => now - entry.typedAt >= OwnTyping.timeout);
    for (const [id] of quiet) this.#entries.delete(id);
    return quiet.map(([id]) => id).sort(ConversationID.compare);
  }

  /**
   * The time of the next timeout; `null` if the user does not type.
   *
   * @returns {number | null}
   */
  get next() {
    return earliest([...this.#entries.values()].map((entry) => entry.typedAt + OwnTyping.timeout));
  }
}

/** The users who are typing in each conversation. */
export class TypingUsers {
  /** The time in milliseconds after which a user counts as no longer typing if no notification arrives. */
  static get lifetime() {
    return 6000;
  }
  /** The maximum number of users per conversation. */
  static get maximumUsers() {
    return 50;
  }

  /**
   * The users of each conversation, in the order they started, with the times of their timeouts.
   *
   * @type {Map<ConversationID, Map<UserID, number>>}
   */
  #entries = new Map();

  /**
   * Returns the users who are typing, in the order they started.
   *
   * @param {ConversationID} id
   * @returns {UserID[]}
   */
  users(id) {
    return [...(this.#entries.get(id)?.keys() ?? [])];
  }

  /**
   * Handles a typing notification from the server.
   *
   * @param {UserID} user
   * @param {ConversationID} id
   * @param {boolean} isTyping
   * @param {number} now
   * @returns {boolean} Whether the list of typing users changed.
   */
  received(user, id, isTyping, now) {
    if (!isTyping) return this.messageReceived(user, id);
    const users = this.#entries.get(id) ?? new Map();
    const isNew = !users.has(user);
    if (isNew && users.size >= TypingUsers.maximumUsers) return false;
    users.set(user, now + TypingUsers.lifetime);
    this.#entries.set(id, users);
    return isNew;
  }

  /**
   * Ends a user's typing because their message arrived.
   *
   * @param {UserID} user
   * @param {ConversationID} id
   * @returns {boolean} Whether the list of typing users changed.
   */
  messageReceived(user, id) {
    const users = this.#entries.get(id);
    if (users === undefined || !users.delete(user)) return false;
    if (users.size === 0) this.#entries.delete(id);
    return true;
  }

  /**
   * Handles the passing of time.
   *
   * @param {number} now
   * @returns {ConversationID[]} The conversations whose typing users changed.
   */
  tick(now) {
    /** @type {Set<ConversationID>} */
    const changed = new Set();
    for (const [id, users] of this.#entries) {
      for (const [user, until] of users) {
        if (until <= now && this.messageReceived(user, id)) changed.add(id);
      }
    }
    return [...changed].sort(ConversationID.compare);
  }

  /**
   * Removes all typing users.
   *
   * @returns {ConversationID[]} The conversations that had typing users.
   */
  disconnected() {
    const ids = [...this.#entries.keys()].sort(ConversationID.compare);
    this.#entries.clear();
    return ids;
  }

  /**
   * The time of the next timeout; `null` if no user types.
   *
   * @returns {number | null}
   */
  get next() {
    return earliest([...this.#entries.values()].flatMap((users) => [...users.values()]));
  }
}

/**
 * Returns the earliest of several times; `null` if there are none.
 *
 * @param {number[]} times
 */
const earliest = (times) => times.length === 0 ? null : Math.min(...times);
