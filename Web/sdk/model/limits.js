// @ts-check
import { ScrollbackError } from "./errors.js";

/**
 * The limits that the server and the client share. A server announces its own limits in `welcome`.
 *
 * @typedef {object} Limits
 * @property {number} frameBytes The maximum size of a frame or body in bytes.
 * @property {number} contentBytes The maximum size of the content of one message in bytes of JSON.
 * @property {number} attributeBytes The maximum size of the `metadata`, `extra` or `push` of one message in bytes of
 *   JSON.
 * @property {number} pageSize The maximum number of messages in a page of history, and of elements in other lists.
 */

/**
 * The limits of this version.
 *
 * @type {Readonly<Limits>}
 */
export const standardLimits = Object.freeze({
  frameBytes: 512 * 1024,
  contentBytes: 128 * 1024,
  attributeBytes: 32 * 1024,
  pageSize: 100,
});

/** The maximum number of users in a request for profiles or presence. */
export const maximumUsers = 100;

/** The maximum number of users that a request to create a conversation names as its members. */
export const maximumMembers = 1000;

/**
 * Checks the maximum number of elements of a page or a list.
 *
 * @param {unknown} value
 * @param {string} parameter
 * @param {number} lowest
 * @param {number} [highest]
 * @throws {ScrollbackError} `invalid-parameter` if the value is not an integer in this range.
 */
export function checkCount(value, parameter, lowest, highest = Infinity) {
  if (typeof value === "number" && Number.isInteger(value) && value >= lowest && value <= highest) return;
  if (highest === Infinity) {
    throw ScrollbackError.invalidParameter(parameter, `must be an integer of at least ${lowest}`);
  }
  throw ScrollbackError.invalidParameter(parameter, `must be an integer in ${lowest}...${highest}`, highest);
}
