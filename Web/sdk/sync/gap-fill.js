// @ts-check
import { Backoff } from "./backoff.js";

/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */
/** @typedef {import("../model/seq-range-set.js").Seq} Seq */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("./backoff.js").Random} Random */

/**
 * A request for a page that fills a gap, starting at one of its ends or inside it.
 *
 * @typedef {object} GapRequest
 * @property {SeqRange} gap
 * @property {Seq} anchor The exclusive start of the page; 0 for the start of the log.
 * @property {"older" | "newer"} direction
 * @property {number} limit The maximum number of messages, at most 100.
 */

/**
 * The next step: send a request, call `next` again at a time, or nothing until something changes.
 *
 * @typedef {{ type: "ask", request: GapRequest } | { type: "wait", until: number } | { type: "idle" }} GapFillStep
 */

/**
 * Returns whether two requests are equal.
 *
 * @param {GapRequest} a
 * @param {GapRequest | null} b
 */
const isSameRequest = (a, b) =>
  b !== null && a.gap[0] === b.gap[0] && a.gap[1] === b.gap[1] && a.anchor === b.anchor &&
  a.direction === b.direction && a.limit === b.limit;

/**
 * A scheduler for requests that fill the gaps of a conversation.
 *
 * It allows one request at a time, waits after failures, and stops when requests make no progress.
 */
export class GapFill {
  /** The number of consecutive answers without progress after which requests stop. */
  static get maximumAttemptsWithoutProgress() {
    return 2;
  }

  #backoff = new Backoff();
  /** @type {number | null} */
  #pausedUntil = null;
  #attemptsWithoutProgress = 0;

  /**
   * The request without an answer.
   *
   * @type {GapRequest | null}
   */
  inFlight = null;

  /** Whether requests have stopped until something changes. */
  get isStuck() {
    return this.#attemptsWithoutProgress >= GapFill.maximumAttemptsWithoutProgress;
  }

  /**
   * Returns the next step for the most important gap.
   *
   * @param {GapRequest | null} wanted
   * @param {number} now
   * @returns {GapFillStep}
   */
  next(wanted, now) {
    if (wanted === null || this.inFlight !== null || this.isStuck) return { type: "idle" };
    if (this.#pausedUntil !== null && now < this.#pausedUntil) return { type: "wait", until: this.#pausedUntil };
    this.#pausedUntil = null;
    this.inFlight = wanted;
    return { type: "ask", request: wanted };
  }

  /**
   * Handles an applied page.
   *
   * @param {GapRequest} request
   * @param {boolean} changedGaps
   */
  answered(request, changedGaps) {
    if (!isSameRequest(request, this.inFlight)) return;
    this.inFlight = null;
    this.#backoff.reset();
    this.#attemptsWithoutProgress = changedGaps ? 0 : this.#attemptsWithoutProgress + 1;
  }

  /**
   * Handles a failed request. After a permanent error, requests stop until something changes.
   *
   * @param {GapRequest} request
   * @param {ScrollbackError} error
   * @param {number} now
   * @param {Random} random
   */
  failed(request, error, now, random) {
    if (!isSameRequest(request, this.inFlight)) return;
    this.inFlight = null;
    const wait = this.#backoff.next(random);
    if (error.isTemporary) {
      this.#pausedUntil = now + (error.retryAfter === undefined ? wait : error.retryAfter * 1000);
    } else {
      this.#attemptsWithoutProgress = GapFill.maximumAttemptsWithoutProgress;
    }
  }

  /** Allows requests again, because the log changed or the app asked for it. */
  allowRequests() {
    this.#attemptsWithoutProgress = 0;
  }

  /** Resets the state, because the answers of this connection are lost. */
  disconnected() {
    this.inFlight = null;
    this.#pausedUntil = null;
    this.#attemptsWithoutProgress = 0;
  }
}
