// @ts-check
import { ConversationID } from "../model/conversation-id.js";

/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */

/**
 * The state machine that fetches the heads of conversations.
 *
 * At most one request for a conversation is in flight. A conversation that is needed again before the answer is
 * requested again after it, because the answer may lack the latest changes.
 */
export class HeadFetches {
  #isConnected = false;
  /**
   * The conversations to request, including those to request again after their answer.
   *
   * @type {Set<ConversationID>}
   */
  #needed = new Set();
  /** @type {Set<ConversationID>} */
  #inFlight = new Set();
  /**
   * The conversations that are requested at the next `tick`.
   *
   * @type {Set<ConversationID>}
   */
  #delayed = new Set();
  /**
   * The conversations that were requested again because a head left their counts uncertain.
   *
   * @type {Set<ConversationID>}
   */
  #repeated = new Set();

  connected() {
    this.disconnected();
    this.#isConnected = true;
  }

  /** Discards everything; the store has the conversations whose heads are needed after the next connection. */
  disconnected() {
    this.#isConnected = false;
    this.#needed = new Set();
    this.#inFlight = new Set();
    this.#delayed = new Set();
    this.#repeated = new Set();
  }

  /**
   * Requests heads; has no effect without a connection.
   *
   * @param {Iterable<ConversationID>} ids
   */
  fetch(ids) {
    if (this.#isConnected) addAll(this.#needed, ids);
  }

  /**
   * Handles a head that left the counts of its conversation uncertain.
   *
   * The first request follows immediately, because an update may have arrived in between. Further requests wait for
   * `tick`.
   *
   * @param {ConversationID} id
   */
  storedUncertain(id) {
    if (!this.#isConnected) return;
    const isFirst = !this.#repeated.has(id);
    this.#repeated.add(id);
    if (isFirst && !this.#delayed.has(id)) this.#needed.add(id);
    else this.#delayed.add(id);
  }

  /**
   * Returns the conversations to request now; report the result with `answered` or `failed`.
   *
   * @param {(id: ConversationID) => boolean} isSubscribed Returns whether the client is subscribed to a channel or
   *   room. Requesting the head of a room enters the room, so only rooms with a subscription are requested.
   * @returns {ConversationID[]}
   */
  next(isSubscribed) {
    const due = [...this.#needed].filter((id) => !this.#inFlight.has(id));
    removeAll(this.#needed, due);
    const ids = due.filter((id) =>
      !ConversationID.isCommunityRoot(id) &&
      (ConversationID.traits(id).membership !== "subscribers" || isSubscribed(id))
    );
    addAll(this.#inFlight, ids);
    return ids.sort(ConversationID.compare);
  }

  /**
   * Handles an answer to a request.
   *
   * @param {Iterable<ConversationID>} ids
   */
  answered(ids) {
    removeAll(this.#inFlight, ids);
  }

  /**
   * Handles a failed request. After a temporary error, the conversations are requested at the next `tick`.
   *
   * @param {Iterable<ConversationID>} ids
   * @param {ScrollbackError} error
   */
  failed(ids, error) {
    removeAll(this.#inFlight, ids);
    if (this.#isConnected && error.isTemporary) addAll(this.#delayed, ids);
  }

  /** Requests the delayed conversations. */
  tick() {
    addAll(this.#needed, this.#delayed);
    this.#delayed = new Set();
    this.#repeated = new Set();
  }

  /** Whether conversations wait for `tick`. */
  get isWaiting() {
    return this.#delayed.size > 0;
  }

  /**
   * Returns whether a request for a conversation is in flight.
   *
   * @param {ConversationID} id
   */
  isInFlight(id) {
    return this.#inFlight.has(id);
  }

  /**
   * Returns whether a conversation is needed again since its last request.
   *
   * @param {ConversationID} id
   */
  isNeeded(id) {
    return this.#needed.has(id);
  }
}

/**
 * @param {Set<ConversationID>} set
 * @param {Iterable<ConversationID>} ids
 */
function addAll(set, ids) {
  for (const id of ids) set.add(id);
}

/**
 * @param {Set<ConversationID>} set
 * @param {Iterable<ConversationID>} ids
 */
function removeAll(set, ids) {
  for (const id of ids) set.delete(id);
}
