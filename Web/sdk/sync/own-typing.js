// @ts-check
import { ConversationID } from "../model/conversation-id.js";

/**
 * The state machine for sending this user's typing status.
 *
 * The client notifies the server when typing starts, every few seconds while it continues, and when it ends. Typing
 * also ends by itself after a timeout.
 */
export class OwnTyping {
  /** The interval in milliseconds between notifications while typing continues. */
  static interval = 3000;
  /** The time in milliseconds after the last keystroke when typing ends. */
  static timeout = 5000;

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
    const times = [...this.#entries.values()].map((entry) => entry.typedAt + OwnTyping.timeout);
    return times.length === 0 ? null : Math.min(...times);
  }
}
