// @ts-check

/**
 * What to do next.
 *
 * - `report`: report what is due, and call `answered`, `failed` or `foundNothing`
 * - `wake`: call `tick` at this time
 *
 * @typedef {{type: "report"} | {type: "wake", at: number}} DeliveryAction
 */

/**
 * Decides when a device reports which messages it has stored.
 *
 * One request reports many conversations, at most one request is in flight, and two requests are at least `interval`
 * apart. What is due is in the store, so a lost connection or a reload loses nothing.
 */
export class DeliveryReports {
  /** The minimum time between two requests, in milliseconds. */
  static get interval() {
    return 1000;
  }

  #isConnected = false;
  #isNeeded = false;
  #isInFlight = false;
  /** Whether reports wait for the retry after a temporary error. */
  #isPaused = false;
  /** @type {number | null} */
  #notBefore = null;
  /** @type {number | null} */
  #wakesAt = null;

  /**
   * Handles a new connection, after which everything that is due is reported.
   *
   * @param {number} now
   */
  connected(now) {
    this.disconnected();
    this.#isConnected = true;
    this.#isNeeded = true;
    return this.#next(now);
  }

  disconnected() {
    this.#isConnected = false;
    this.#isNeeded = false;
    this.#isInFlight = false;
    this.#isPaused = false;
    this.#notBefore = null;
    this.#wakesAt = null;
  }

  /**
   * Handles a report that became due.
   *
   * @param {number} now
   */
  needed(now) {
    this.#isNeeded = this.#isConnected;
    return this.#next(now);
  }

  /** @param {number} now */
  tick(now) {
    return this.#next(now);
  }

  /**
   * Handles an answer of the server, after which more may be due.
   *
   * @param {number} now
   */
  answered(now) {
    this.#isInFlight = false;
    return this.needed(now);
  }

  /** Handles a temporary error; nothing is reported until `retry` is called. */
  failed() {
    this.#isInFlight = false;
    this.#isPaused = true;
  }

  /**
   * Continues when the server may accept reports again.
   *
   * @param {number} now
   */
  retry(now) {
    this.#isPaused = false;
    return this.needed(now);
  }

  /** Handles that nothing was due, so that no request was sent. */
  foundNothing() {
    this.#isInFlight = false;
    this.#notBefore = null;
  }

  /**
   * @param {number} now
   * @returns {DeliveryAction | null}
   */
  #next(now) {
    if (!this.#isNeeded || this.#isInFlight || this.#isPaused) return null;
    // A time that is further away comes from before the clock was set back.
    const notBefore = this.#notBefore;
    if (notBefore !== null && now < notBefore && notBefore <= now + DeliveryReports.interval) {
      if (this.#wakesAt === notBefore) return null;
      this.#wakesAt = notBefore;
      return { type: "wake", at: notBefore };
    }
    this.#isNeeded = false;
    this.#isInFlight = true;
    this.#notBefore = now + DeliveryReports.interval;
    this.#wakesAt = null;
    return { type: "report" };
  }
}
