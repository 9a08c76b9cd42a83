// @ts-check

/** A token bucket for rate limiting, with a refill rate and a burst size. */
export class TokenBucket {
  /**
   * @param {number} perSecond
   * @param {number} burst
   */
  constructor(perSecond, burst) {
    this.perSecond = perSecond;
    this.burst = burst;
    /** @private */
    this.tokens = burst;
    /**
     * The time of the last call; before it, the bucket was full.
     *
     * @type {number | null}
     */
    this.filledAt = null;
  }

  /** @returns {TokenBucket} */
  copy() {
    return Object.assign(new TokenBucket(this.perSecond, this.burst), this);
  }

  /**
   * Takes tokens and returns whether they were available; if not, none is taken.
   *
   * @param {number} now The time in milliseconds since 1970.
   * @param {number} [count] The number of tokens. A number above `burst` takes a full bucket.
   */
  take(now, count = 1) {
    // If the clock goes back, no tokens are added.
    const seconds = this.filledAt === null ? 0 : Math.max(0, now - this.filledAt) / 1000;
    this.tokens = Math.min(this.burst, this.tokens + seconds * this.perSecond);
    this.filledAt = now;
    const needed = Math.min(count, this.burst);
    if (this.tokens < needed) return false;
    this.tokens -= needed;
    return true;
  }

  /**
   * Returns the delay in milliseconds from the last call until tokens are available; 0 if they are available.
   *
   * The value is rounded up by at most a millisecond, so that a caller who waits exactly that long is not too early.
   *
   * @param {number} [count]
   */
  wait(count = 1) {
    const needed = Math.min(count, this.burst);
    return this.tokens >= needed ? 0 : Math.floor((needed - this.tokens) / this.perSecond * 1000) + 1;
  }
}

/**
 * The rate at which a device sends messages.
 *
 * @typedef {object} SendPace
 * @property {number} perSecond The number of messages per second, above 0.
 * @property {number} burst The number of messages that can be sent at once, 1 or more.
 * @property {"waits" | "fails"} excess What happens to a message that exceeds the rate: it waits in the outbox, or
 *   fails with `rate-limited` and can be sent again.
 */

/**
 * 5 messages per second in bursts of 5; further messages wait.
 *
 * @type {Readonly<SendPace>}
 */
export const standardPace = Object.freeze({ perSecond: 5, burst: 5, excess: "waits" });
