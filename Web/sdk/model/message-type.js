// @ts-check
import { ScrollbackError } from "./errors.js";

/**
 * The type of a content: a short name, or an application-defined name, which is in reverse-DNS form
 * (`com.example.poll`) or has the prefix `app:`.
 *
 * @typedef {string} MessageType
 */

/**
 * The effects of a message in addition to its content.
 *
 * The type determines the traits. A sender can turn off traits for a message but can't turn them on.
 *
 * @typedef {object} MessageTraits
 * @property {boolean} isStored Whether the message is stored in the log; otherwise it reaches only users who are
 *   connected at the moment.
 * @property {boolean} countsUnread Whether the message increases the unread count of everyone except its sender.
 * @property {boolean} notifies Whether the message can trigger a push.
 * @property {boolean} updatesRecents Whether the message becomes the last message in the recents list.
 */

/** @type {Readonly<MessageTraits>} */
const allTraits = Object.freeze({ isStored: true, countsUnread: true, notifies: true, updatesRecents: true });

/**
 * The types that this version defines.
 *
 * @type {readonly MessageType[]}
 */
export const builtInTypes = Object.freeze([
  "text",
  "image",
  "gif",
  "file",
  "voice",
  "video",
  "location",
  "poll",
  "reference",
  "command",
  "notice",
]);

/** The number of sequence numbers that the recents list searches for a message that updates it. */
export const recentsDepth = 100;

/**
 * Returns the traits of messages of a type.
 *
 * @param {MessageType} type
 * @returns {Readonly<MessageTraits>}
 */
export function typeTraits(type) {
  switch (type) {
    case "command":
      return { isStored: false, countsUnread: false, notifies: false, updatesRecents: false };
    case "notice":
      return { ...allTraits, countsUnread: false, notifies: false };
    default:
      return allTraits;
  }
}

/**
 * Returns traits without those that the sender turned off.
 *
 * @param {Readonly<MessageTraits>} traits
 * @param {Partial<MessageTraits>} [others]
 * @returns {MessageTraits}
 */
export function restrictedTraits(traits, others = {}) {
  const isStored = traits.isStored && others.isStored !== false;
  return {
    isStored,
    countsUnread: traits.countsUnread && others.countsUnread !== false && isStored,
    notifies: traits.notifies && others.notifies !== false,
    updatesRecents: traits.updatesRecents && others.updatesRecents !== false && isStored,
  };
}

/**
 * Whether the content of messages of a type is a file.
 *
 * @param {MessageType} type
 */
export const isMediaType = (type) => ["image", "gif", "file", "voice", "video"].includes(type);

/**
 * Whether a type is application-defined: prefixed with `app:`, or in reverse-DNS form.
 *
 * @param {MessageType} type
 */
export function isCustomType(type) {
  if (type.startsWith("app:")) return type.length > "app:".length;
  const labels = type.split(".");
  return labels.length > 1 && !type.includes(":") && labels.every((label) => label !== "");
}

/**
 * Validates the type of new content: a built-in or an application-defined one.
 *
 * @param {string} name 1 to 64 of the characters `a-z A-Z 0-9 . _ : -`.
 * @param {string} [parameter]
 * @returns {MessageType}
 * @throws {ScrollbackError} `invalid-parameter` if the name is invalid or of no known type.
 */
export function messageType(name, parameter = "type") {
  if (!/^[a-zA-Z0-9._:-]{1,64}$/.test(name)) {
    const reason = "must be 1...64 of the characters a-z A-Z 0-9 . _ : -";
    throw ScrollbackError.invalidParameter(parameter, reason);
  }
  if (!builtInTypes.includes(name) && !isCustomType(name)) {
    const reason = `${name} is not a built-in type (${builtInTypes.join(", ")}). Start the name of an application's ` +
      "own type with app:, or use the reverse-DNS form, such as com.example.poll.";
    throw ScrollbackError.invalidParameter(parameter, reason);
  }
  return name;
}
