// @ts-check

/** @typedef {import("../model/message-id.js").MessageID} MessageID */

/**
 * The IDs of transient messages received within the last ten minutes.
 *
 * A sender without an answer sends such a message again. The client uses the IDs to deliver it only once.
 */
export class ReceivedIDs {
  /** The time in milliseconds for which an ID is remembered. */
  static get retention() {
    return 600_000;
  }

  /**
   * The times at which IDs were received, in the order of their arrival.
   *
   * @type {Map<MessageID, number>}
   */
  #times = new Map();

  /**
   * Returns whether the ID was not received before, and records it.
   *
   * @param {MessageID} id
   * @param {number} now
   */
  isNew(id, now) {
    for (const [earlier, time] of this.#times) {
      if (now - time <= ReceivedIDs.retention) break;
      this.#times.delete(earlier);
    }
    if (this.#times.has(id)) return false;
    this.#times.set(id, now);
    return true;
  }
}
