// @ts-check

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
