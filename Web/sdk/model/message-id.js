// @ts-check
import { ScrollbackError } from "./errors.js";

/**
 * The ID of a message: a UUID in lower case that the sender's device creates and keeps for every retry.
 *
 * It is unique in its conversation. Texts in lower case have the order of their 16 bytes.
 *
 * @typedef {string} MessageID
 */

/**
 * The ID of a file: a random UUID in lower case that the sender's device creates.
 *
 * @typedef {string} MediaID
 */

/**
 * Parses the 36-character text form of a UUID, in upper or lower case.
 *
 * @param {string} text
 * @param {string} [parameter]
 * @returns {MessageID} The text in lower case.
 * @throws {ScrollbackError} `invalid-parameter` if the text is not a UUID.
 */
export function messageID(text, parameter = "id") {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  const reason = "must be a UUID, for example 0198f3c2-7c1e-7000-8000-0123456789ab";
  throw ScrollbackError.invalidParameter(parameter, reason);
}

/**
 * Returns a new UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits.
 *
 * @param {number} now The time in milliseconds since 1970; messages are never ordered by it.
 * @param {Uint8Array} randomBytes 10 random bytes, for example from `crypto.getRandomValues`.
 * @returns {MessageID}
 */
export function newMessageID(now, randomBytes) {
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, "0").slice(-12);
  const bytes = [...randomBytes.subarray(0, 10)];
  bytes[0] = 0x70 | (bytes[0] ?? 0) & 0x0f;
  bytes[2] = 0x80 | (bytes[2] ?? 0) & 0x3f;
  const rest = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("").padEnd(20, "0");
  const hex = time + rest;
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
