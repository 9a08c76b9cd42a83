// @ts-check
import { ScrollbackError } from "./errors.js";

/**
 * Returns the number of bytes of a text in UTF-8.
 *
 * @param {string} text
 * @returns {number}
 */
export function utf8Length(text) {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts two of the four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return bytes;
}

/**
 * Compares two texts by their bytes in UTF-8, the order of identifiers on every device and in every store.
 *
 * The operator `<` compares UTF-16, in which surrogate pairs come before the characters from U+E000 on.
 *
 * @param {string} a
 * @param {string} b
 * @returns {number} Below 0 if `a` comes first, above 0 if `b` does, and 0 if the texts are equal.
 */
export function compareText(a, b) {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const [first, second] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (first !== second) return rank(first) - rank(second);
  }
  return a.length - b.length;
}

/**
 * The order of a UTF-16 unit among the first bytes of UTF-8: surrogates come last.
 *
 * @param {number} unit
 */
const rank = (unit) => unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;

/** The maximum length of an identifier in bytes of UTF-8. */
export const maximumIdentifierBytes = 128;

/**
 * Validates an application-defined name of a user, group, community, channel, room or service.
 *
 * @param {string} text 1 to 128 bytes of UTF-8 in Unicode normalization form C, without control characters, characters
 *   that change the direction of text, and invisible characters other than joiners and variation selectors.
 * @param {string} [parameter] The name of the parameter in the error.
 * @returns {string} The text.
 * @throws {ScrollbackError} `invalid-parameter` if the text breaks one of the rules.
 */
export function identifier(text, parameter = "identifier") {
  const reason = identifierFault(text);
  if (reason !== undefined) throw ScrollbackError.invalidParameter(parameter, reason);
  return text;
}

/** @param {string} text */
function identifierFault(text) {
  if (typeof text !== "string") return "must be a text";
  if (text === "") return "must not be empty";
  const bytes = utf8Length(text);
  if (bytes > maximumIdentifierBytes) {
    return `must be at most ${maximumIdentifierBytes} bytes of UTF-8 but has ${bytes}`;
  }
  if (!text.isWellFormed()) return "must be valid Unicode, without a half of a surrogate pair";
  for (const character of text) {
    if (breaksLine(character)) return `must not contain control characters (${codePoint(character)})`;
    if (/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u.test(character)) {
      return `must not contain characters that change the direction of text (${codePoint(character)})`;
    }
    if (/[\u00AD\u180E\u200B\u2060-\u2064\u206A-\u206F\uFEFF\uFFF9-\uFFFB]/u.test(character)) {
      return `must not contain invisible characters (${codePoint(character)})`;
    }
  }
  if (text.normalize("NFC") !== text) return "must be in Unicode normalization form C (composed characters)";
  return undefined;
}

/**
 * Validates a user ID; {@link identifier} has the rules.
 *
 * @param {string} text
 * @param {string} [parameter]
 * @returns {UserID}
 */
export const userID = (text, parameter = "user") => identifier(text, parameter);

/**
 * Validates the name of a conversation; an empty text removes the name.
 *
 * @param {string} text At most 128 bytes of UTF-8, without control characters and characters that override the
 *   direction of text. It closes each bidirectional embedding and isolate that it opens.
 * @throws {ScrollbackError} `invalid-parameter`
 */
export function checkName(text) {
  const isTooLong = typeof text === "string" && utf8Length(text) > maximumIdentifierBytes;
  const reason = isTooLong ? `must be at most ${maximumIdentifierBytes} bytes of UTF-8` : nameFault(text);
  const limit = isTooLong ? maximumIdentifierBytes : undefined;
  if (reason !== undefined) throw ScrollbackError.invalidParameter("name", reason, limit);
}

/** @param {string} text */
function nameFault(text) {
  if (typeof text !== "string") return "must be a text";
  if (!text.isWellFormed()) return "must be valid Unicode, without a half of a surrogate pair";
  const unbalanced = "must close each bidirectional embedding and isolate that it opens";
  /** The characters that close the open embeddings and isolates. @type {string[]} */
  const open = [];
  for (const character of text) {
    if (/[\u202D\u202E]/.test(character)) return `must not override the direction of text (${codePoint(character)})`;
    if (breaksLine(character)) return `must not contain control characters (${codePoint(character)})`;
    if (/[\u202A\u202B]/.test(character)) open.push("\u202C");
    if (/[\u2066-\u2068]/.test(character)) open.push("\u2069");
    if (/[\u202C\u2069]/.test(character) && open.pop() !== character) return unbalanced;
  }
  return open.length > 0 ? unbalanced : undefined;
}

/**
 * The ID of a user, which the application chooses: 1 to 128 bytes of UTF-8.
 *
 * @typedef {string} UserID
 */

/**
 * Whether a character is a control character or separates lines or paragraphs.
 *
 * @param {string} character
 */
const breaksLine = (character) => /^[\p{Cc}\p{Zl}\p{Zp}]$/u.test(character);

/** @param {string} character */
const codePointOf = (character) => character.codePointAt(0) ?? 0;

/**
 * The character as `U+202E`.
 *
 * @param {string} character
 */
const codePoint = (character) => `U+${codePointOf(character).toString(16).toUpperCase().padStart(4, "0")}`;
