// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { isSamePosition } from "../model/log.js";
import { Backoff } from "./backoff.js";

/** @typedef {import("../model/conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */
/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("./backoff.js").Random} Random */
/** @typedef {import("./live-event.js").LiveEvent} LiveEvent */

/**
 * An action that a connecting client must execute.
 *
 * - `pullWindow`: request the next window of changed conversations; report the result with `windowAnswered` or
 *   `windowFailed`.
 * - `storeHeads`: apply these heads and store the cursor in one transaction, then call `windowStored`.
 * - `sync`: send a `sync` request for these positions, apply the answers, and then call `syncAnswered` or `syncFailed`.
 * - `release`: apply these events in this order.
 * - `recheck`: start another sync pass, because some held events of these conversations were dropped.
 * - `wake`: call `tick` at this time.
 *
 * @typedef {{ type: "pullWindow", request: number, cursor: string | null }
 *   | { type: "storeHeads", heads: readonly ConversationHead[], cursor: string }
 *   | { type: "sync", batch: number, positions: readonly LogPosition[] }
 *   | { type: "release", events: readonly LiveEvent[] }
 *   | { type: "recheck", conversations: readonly ConversationID[] }
 *   | { type: "wake", at: number }} ResumeAction
 */

/**
 * The progress of the windows of changed conversations.
 *
 * @typedef {{ type: "offline" } | { type: "pulling", request: number, cursor: string | null }
 *   | { type: "storing", cursor: string, isDone: boolean }
 *   | { type: "pausing", until: number, cursor: string | null } | { type: "done" }} Windows
 */

/**
 * The state machine that resumes a connection.
 *
 * It pulls windows of changed conversations and updates each conversation that is behind. It holds live events back
 * until all earlier messages are stored.
 *
 * The input is events and the output is {@link ResumeAction}s. Answers to requests of an earlier connection are
 * recognized by their number and ignored. Live events of an earlier connection must not be passed in.
 */
export class ResumeState {
  /** The maximum number of conversations in a `sync` request. */
  static get batchSize() {
    return 20;
  }
  /** The maximum number of concurrent `sync` requests. */
  static get batchesInFlight() {
    return 2;
  }
  /** The maximum number of held live events; beyond it, events are dropped, and another sync pass follows. */
  static get maximumHeldEvents() {
    return 10_000;
  }

  /** A number that is never reset, so that each answer matches one request. */
  #lastNumber = 0;
  /** @type {Windows} */
  #windows = { type: "offline" };
  /**
   * The heads of the window that is being stored.
   *
   * @type {readonly ConversationHead[]}
   */
  #storing = [];
  /**
   * The conversations that wait for a free request, in order.
   *
   * @type {LogPosition[]}
   */
  #queue = [];
  /** @type {Map<number, LogPosition[]>} */
  #inFlight = new Map();
  /**
   * The conversations to request again after the answer to their current request.
   *
   * @type {Map<ConversationID, LogPosition>}
   */
  #repeatPositions = new Map();
  /**
   * The conversations that are requested after a delay.
   *
   * @type {LogPosition[]}
   */
  #paused = [];
  /** @type {number | null} */
  #pausedUntil = null;
  /**
   * The conversations that are queued, in flight or paused, and those that wait for another sync pass.
   *
   * @type {Set<ConversationID>}
   */
  #pending = new Set();
  /** Whether the device has never received all windows; it has then missed nothing. */
  #isNew = false;
  /** Whether a new device has received the top of its list, after which it can release live events. */
  #hasFirstWindow = false;
  /**
   * The conversations that were synchronized before all windows arrived.
   *
   * @type {Set<ConversationID>}
   */
  #synced = new Set();
  /** @type {LiveEvent[]} */
  #held = [];
  /**
   * The conversations that lost events because too many were held.
   *
   * @type {Set<ConversationID>}
   */
  #overflowed = new Set();
  #backoff = new Backoff();

  /**
   * Returns whether all missed messages of a conversation are stored, so that live events follow without a gap.
   *
   * @param {ConversationID} conversation
   */
  isResumed(conversation) {
    const isKnown = this.#windows.type === "done" || this.#hasFirstWindow || this.#synced.has(conversation);
    return isKnown && !this.#pending.has(conversation);
  }

  /** Whether windows of changed conversations are still outstanding. */
  get isFetchingWindows() {
    return this.#windows.type !== "offline" && this.#windows.type !== "done";
  }

  /** The number of held live events. */
  get heldCount() {
    return this.#held.length;
  }

  // The connection

  /**
   * Handles the server's `welcome`.
   *
   * @param {string | null} cursor The cursor that was stored with the last window.
   * @param {Iterable<LogPosition>} [behind] Conversations that are behind since an earlier connection; the windows
   *   don't list them again.
   * @param {boolean} [isNew] Whether the device has never received all windows.
   * @returns {ResumeAction[]}
   */
  connected(cursor, behind = [], isNew = false) {
    this.#forget();
    this.#isNew = isNew;
    for (const position of behind) this.#enqueue(position);
    return [this.#pull(cursor), ...this.#sendBatches()];
  }

  /** Discards everything except the request numbers; the store has the cursor and the conversations that are behind. */
  disconnected() {
    this.#forget();
  }

  /**
   * Handles the passing of time.
   *
   * @param {number} now
   * @returns {ResumeAction[]}
   */
  tick(now) {
    /** @type {ResumeAction[]} */
    const actions = [];
    if (this.#windows.type === "pausing" && now >= this.#windows.until) actions.push(this.#pull(this.#windows.cursor));
    if (this.#pausedUntil !== null && now >= this.#pausedUntil) {
      this.#pausedUntil = null;
      this.#queue.push(...this.#paused);
      this.#paused = [];
      actions.push(...this.#sendBatches());
    }
    return actions;
  }

  /**
   * @param {string | null} cursor
   * @returns {ResumeAction}
   */
  #pull(cursor) {
    const request = this.#nextNumber();
    this.#windows = { type: "pulling", request, cursor };
    return { type: "pullWindow", request, cursor };
  }

  #nextNumber() {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  #forget() {
    this.#windows = { type: "offline" };
    this.#storing = [];
    this.#queue = [];
    this.#inFlight = new Map();
    this.#repeatPositions = new Map();
    this.#paused = [];
    this.#pausedUntil = null;
    this.#pending = new Set();
    this.#isNew = false;
    this.#hasFirstWindow = false;
    this.#synced = new Set();
    this.#held = [];
    this.#overflowed = new Set();
    this.#backoff.reset();
  }

  // Windows of changed conversations

  /**
   * Handles a window of conversations.
   *
   * @param {number} request
   * @param {readonly ConversationHead[]} heads
   * @param {string} cursor
   * @param {boolean} isDone
   * @returns {ResumeAction[]}
   */
  windowAnswered(request, heads, cursor, isDone) {
    if (this.#windows.type !== "pulling" || this.#windows.request !== request) return [];
    this.#windows = { type: "storing", cursor, isDone };
    this.#storing = heads;
    return [{ type: "storeHeads", heads, cursor }];
  }

  /**
   * Handles a stored window.
   *
   * @param {(head: ConversationHead) => LogPosition | null} isBehind Returns the local position in a conversation that
   *   misses something, or `null`.
   * @returns {ResumeAction[]}
   */
  windowStored(isBehind) {
    if (this.#windows.type !== "storing") return [];
    const { cursor, isDone } = this.#windows;
    for (const head of this.#storing) {
      const position = ConversationID.traits(head.conversation).replaysMissed ? isBehind(head) : null;
      if (position !== null) this.#enqueue(position);
    }
    this.#storing = [];
    this.#backoff.reset();
    if (!isDone) {
      const actions = [this.#pull(cursor), ...this.#sendBatches()];
      if (!this.#isNew || this.#hasFirstWindow) return actions;
      this.#hasFirstWindow = true;
      return [...actions, ...this.#releaseResumed()];
    }
    this.#windows = { type: "done" };
    return [...this.#sendBatches(), ...this.#releaseResumed()];
  }

  /**
   * Handles a failed request for a window.
   *
   * After a permanent error, the next request starts from the beginning instead of this cursor.
   *
   * @param {number} request
   * @param {ScrollbackError} error
   * @param {number} now
   * @param {Random} random
   * @returns {ResumeAction[]}
   */
  windowFailed(request, error, now, random) {
    if (this.#windows.type !== "pulling" || this.#windows.request !== request) return [];
    const until = now + this.#delay(error, random);
    this.#windows = { type: "pausing", until, cursor: error.isTemporary ? this.#windows.cursor : null };
    return [{ type: "wake", at: until }];
  }

  /**
   * @param {ScrollbackError | null} error
   * @param {Random} random
   */
  #delay(error, random) {
    return error?.retryAfter === undefined ? this.#backoff.next(random) : error.retryAfter * 1000;
  }

  // Requests for conversations that are behind

  /**
   * Queues a conversation for `sync`, for example after an edit showed that something is missing.
   *
   * @param {LogPosition} position
   * @returns {ResumeAction[]}
   */
  needsSync(position) {
    if (this.#windows.type === "offline") return [];
    this.#enqueue(position);
    return this.#sendBatches();
  }

  /**
   * Handles an applied answer to `sync`.
   *
   * If an answer had no room for a conversation, the conversation is requested again immediately. After an answer
   * without any progress, the next request waits.
   *
   * @param {number} batch
   * @param {readonly LogPosition[]} behind The current positions of conversations in the batch that still miss
   *   something.
   * @param {number} now
   * @param {Random} random
   * @returns {ResumeAction[]}
   */
  syncAnswered(batch, behind, now, random) {
    const asked = this.#inFlight.get(batch);
    if (asked === undefined) return [];
    this.#inFlight.delete(batch);
    /** @type {LogPosition[]} */
    const next = [];
    for (const { conversation } of asked) {
      const repeated = this.#takeRepeated(conversation);
      this.#pending.delete(conversation);
      this.#synced.add(conversation);
      const position = behind.find((position) => position.conversation === conversation) ?? repeated;
      if (position !== undefined) next.push(position);
    }
    /** @type {ResumeAction[]} */
    let waiting = [];
    const hasNoProgress = next.length === asked.length &&
      asked.every((position, index) => isSamePosition(position, /** @type {LogPosition} */ (next[index])));
    if (hasNoProgress) {
      waiting = this.#pause(next, null, now, random);
    } else {
      this.#backoff.reset();
      for (const position of next) this.#enqueue(position);
    }
    return [...this.#releaseResumed(), ...this.#sendBatches(), ...waiting];
  }

  /**
   * Handles a failed `sync` request. After a permanent error, the conversations are not requested again on this
   * connection.
   *
   * @param {number} batch
   * @param {ScrollbackError} error
   * @param {number} now
   * @param {Random} random
   * @returns {ResumeAction[]}
   */
  syncFailed(batch, error, now, random) {
    const asked = this.#inFlight.get(batch);
    if (asked === undefined) return [];
    this.#inFlight.delete(batch);
    for (const position of asked) this.#pending.delete(position.conversation);
    /** @type {ResumeAction[]} */
    let waiting = [];
    if (error.isTemporary) {
      const latest = asked.map((position) => this.#takeRepeated(position.conversation) ?? position);
      waiting = this.#pause(latest, error, now, random);
    } else {
      for (const position of asked) {
        this.#synced.add(position.conversation);
        this.#overflowed.delete(position.conversation);
        const next = this.#takeRepeated(position.conversation);
        if (next !== undefined && !isSamePosition(next, position)) this.#enqueue(next);
      }
    }
    return [...this.#releaseResumed(), ...this.#sendBatches(), ...waiting];
  }

  /** @param {ConversationID} conversation */
  #takeRepeated(conversation) {
    const position = this.#repeatPositions.get(conversation);
    this.#repeatPositions.delete(conversation);
    return position;
  }

  /**
   * Queues a conversation, or updates its position if it is already queued.
   *
   * @param {LogPosition} position
   */
  #enqueue(position) {
    const { conversation } = position;
    /** @param {LogPosition} other */
    const isSame = (other) => other.conversation === conversation;
    const queued = this.#queue.findIndex(isSame);
    const paused = this.#paused.findIndex(isSame);
    if (!this.#pending.has(conversation)) {
      this.#pending.add(conversation);
      this.#queue.push(position);
    } else if (queued >= 0) {
      this.#queue[queued] = position;
    } else if (paused >= 0) {
      this.#paused[paused] = position;
    } else if ([...this.#inFlight.values()].some((positions) => positions.some(isSame))) {
      this.#repeatPositions.set(conversation, position);
    } else {
      this.#queue.push(position);
    }
  }

  /**
   * Sends requests for the first conversations in the queue, within the limit of concurrent requests.
   *
   * @returns {ResumeAction[]}
   */
  #sendBatches() {
    /** @type {ResumeAction[]} */
    const actions = [];
    while (this.#queue.length > 0 && this.#inFlight.size < ResumeState.batchesInFlight) {
      const positions = this.#queue.splice(0, ResumeState.batchSize);
      const batch = this.#nextNumber();
      this.#inFlight.set(batch, positions);
      actions.push({ type: "sync", batch, positions });
    }
    return actions;
  }

  /**
   * @param {LogPosition[]} positions
   * @param {ScrollbackError | null} error
   * @param {number} now
   * @param {Random} random
   * @returns {ResumeAction[]}
   */
  #pause(positions, error, now, random) {
    if (positions.length === 0) return [];
    this.#paused.push(...positions);
    for (const { conversation } of positions) this.#pending.add(conversation);
    const until = now + this.#delay(error, random);
    this.#pausedUntil = Math.max(until, this.#pausedUntil ?? until);
    return [{ type: "wake", at: this.#pausedUntil }];
  }

  // Live events

  /**
   * Handles a live event: releases it, or holds it until its conversation is resumed.
   *
   * @param {LiveEvent} event
   * @returns {ResumeAction[]}
   */
  live(event) {
    if (this.#windows.type === "offline") return [];
    if (this.isResumed(event.conversation)) return [{ type: "release", events: [event] }];
    if (this.#held.length < ResumeState.maximumHeldEvents && !this.#overflowed.has(event.conversation)) {
      this.#held.push(event);
    } else {
      this.#overflowed.add(event.conversation);
    }
    return [];
  }

  /**
   * Releases the held events of resumed conversations in the order of their arrival.
   *
   * @returns {ResumeAction[]}
   */
  #releaseResumed() {
    /** @type {LiveEvent[]} */
    const released = [];
    /** @type {LiveEvent[]} */
    const kept = [];
    for (const event of this.#held) (this.isResumed(event.conversation) ? released : kept).push(event);
    this.#held = kept;
    const lossy = [...this.#overflowed].filter((id) => this.isResumed(id)).sort(ConversationID.compare);
    for (const id of lossy) {
      this.#overflowed.delete(id);
      this.#pending.add(id);
    }
    /** @type {ResumeAction[]} */
    const actions = [];
    if (released.length > 0) actions.push({ type: "release", events: released });
    if (lossy.length > 0) actions.push({ type: "recheck", conversations: lossy });
    return actions;
  }
}
