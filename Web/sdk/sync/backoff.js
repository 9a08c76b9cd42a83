// @ts-check

/**
 * Returns a random number from 0 (inclusive) to 1 (exclusive), like `Math.random`.
 *
 * @typedef {() => number} Random
 */

/**
 * Exponential backoff with jitter. All delays are in milliseconds.
 *
 * The delay doubles after every failure. The jitter prevents many devices from retrying at the same time.
 */
export class Backoff {
  /**
   * @param {number} [base] The upper bound of the first delay.
   * @param {number} [cap] The upper bound of all delays.
   */
  constructor(base = 500, cap = 30_000) {
    this.base = base;
    this.cap = cap;
    /** The number of consecutive failures. */
    this.failures = 0;
  }

  /**
   * Returns the delay after one more failure.
   *
   * The delay is random, between half and all of `base` doubled once for every previous failure.
   *
   * @param {Random} random
   * @param {number | null} [spread] If set, the delay is random between 0 and this time. A server that restarts (close
   *   code 1012) requests it to spread the reconnects of its devices.
   */
  next(random, spread = null) {
    this.failures += 1;
    return spread === null ? this.wait(this.failures, random) : Math.max(0, spread) * random();
  }

  /**
   * Returns the delay after a number of consecutive failures, 1 or more.
   *
   * @param {number} failures
   * @param {Random} random
   */
  wait(failures, random) {
    // 2^32 exceeds any reasonable cap and keeps the power finite.
    const whole = Math.min(this.cap, this.base * 2 ** Math.min(Math.max(failures - 1, 0), 32));
    return whole / 2 + (whole / 2) * random();
  }

  /** Resets the failures after a success. */
  reset() {
    this.failures = 0;
  }
}
