// @ts-check
import { ConversationID } from "../model/conversation-id.js";

/** @typedef {import("../model/text.js").UserID} UserID */

/** The users who are typing in each conversation. */
export class TypingUsers {
  /** The time in milliseconds after which a user counts as no longer typing if no notification arrives. */
  static lifetime = 6000;
  /** The maximum number of users per conversation. */
  static maximumUsers = 50;

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
    const times = [...this.#entries.values()].flatMap((users) => [...users.values()]);
    return times.length === 0 ? null : Math.min(...times);
  }
}
