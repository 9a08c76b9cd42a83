// @ts-check
import { ScrollbackError } from "./errors.js";

/**
 * The time of a message in 100 ns ticks since 1970, as decimal digits.
 *
 * Timetokens strictly increase in a conversation, so no two messages share one. A timetoken has 64 bits, and a number
 * of JavaScript has 53. Timetokens are therefore text, as on the wire: equal timetokens are equal with `===`. Use
 * {@link compareTimetokens} for the order.
 *
 * @typedef {string} Timetoken
 */

/**
 * The identity of a log: a 64-bit number as decimal digits, which is only compared for equality.
 *
 * A conversation that was deleted and recreated, or a store restored from a backup, has a new epoch.
 *
 * @typedef {string} Epoch
 */

const largest = 2n ** 64n - 1n;

/**
 * The timetoken before all others.
 *
 * @type {Timetoken}
 */
export const earliestTimetoken = "0";

/** @param {string} text */
function digits(text) {
  if (!/^[0-9]{1,40}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= largest ? value.toString() : undefined;
}

/**
 * Parses decimal digits.
 *
 * @param {string} text
 * @param {string} [parameter]
 * @returns {Timetoken} The digits without leading zeros.
 * @throws {ScrollbackError} `invalid-parameter` if the text is not a 64-bit number.
 */
export function timetoken(text, parameter = "timetoken") {
  const value = digits(text);
  if (value !== undefined) return value;
  throw ScrollbackError.invalidParameter(parameter, `must be a number of 100 ns ticks since 1970, 0...${largest}`);
}

/**
 * Parses decimal digits.
 *
 * @param {string} text
 * @param {string} [parameter]
 * @returns {Epoch} The digits without leading zeros.
 * @throws {ScrollbackError} `invalid-parameter` if the text is not a 64-bit number.
 */
export function epoch(text, parameter = "epoch") {
  const value = digits(text);
  if (value !== undefined) return value;
  const reason = "must be a decimal number from a page or an acknowledgement";
  throw ScrollbackError.invalidParameter(parameter, reason);
}

/**
 * Compares two timetokens.
 *
 * @param {Timetoken} a
 * @param {Timetoken} b
 * @returns {number} Below 0 if `a` is earlier, above 0 if `b` is, and 0 if they are equal.
 */
export function compareTimetokens(a, b) {
  if (a === b) return 0;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/**
 * Returns the later of two timetokens.
 *
 * @param {Timetoken} a
 * @param {Timetoken} b
 * @returns {Timetoken}
 */
export const laterTimetoken = (a, b) => compareTimetokens(a, b) < 0 ? b : a;

/**
 * Returns the timetoken with 20 digits. The operator `<` and the keys of IndexedDB order such texts by time.
 *
 * @param {Timetoken} timetoken
 * @returns {string}
 */
export const timetokenKey = (timetoken) => timetoken.padStart(20, "0");

/**
 * Returns the timetoken for the first tick of a date's millisecond. Dates outside of the range give the nearest one.
 *
 * @param {Date} date
 * @returns {Timetoken}
 */
export function timetokenOf(date) {
  const milliseconds = date.getTime();
  return milliseconds > 0 ? (BigInt(Math.round(milliseconds)) * 10_000n).toString() : earliestTimetoken;
}

/**
 * Returns the time of a timetoken, rounded down to milliseconds.
 *
 * @param {Timetoken} timetoken
 * @returns {Date} An invalid date after the year 275760, the last one of JavaScript's dates.
 */
export const dateOf = (timetoken) => new Date(Number(BigInt(timetoken) / 10_000n));
