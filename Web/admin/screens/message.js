// A message of any type as text.
import { time } from "../format.js";
import { badge, link, make } from "../parts/dom.js";

/** @typedef {import("../types.js").Message} Message */

/**
 * All that the users can read of a message: its text, its file's name, and other members of its content as JSON.
 *
 * @param {Message} message
 */
export function summary({ type, content, deleted }) {
  if (deleted || content === undefined) return "(deleted)";
  const { text, name, ...others } = /** @type {Record<string, unknown>} */ (content ?? {});
  if (text === undefined && name === undefined && isEncrypted(others)) return "(encrypted)";
  const texts = [text, name].map((value) => typeof value === "string" ? value : JSON.stringify(value));
  const rest = mediaTypes.has(type) || Object.keys(others).length === 0 ? undefined : JSON.stringify(others);
  return [type === "text" ? undefined : `[${type}]`, ...texts, rest].filter((part) => part !== undefined).join(" ");
}

/** The types whose other members are facts about a file, which clients don't show as text. */
const mediaTypes = new Set(["image", "gif", "voice", "video", "file"]);

/**
 * Whether a content has only an encrypted value, as the server defines it. Other contents can have a member of the same
 * name, and clients show their texts.
 *
 * @param {Record<string, unknown>} content
 */
function isEncrypted({ encrypted, files: _files, ...others }) {
  const { format, key, data } = /** @type {Record<string, unknown>} */ (encrypted ?? {});
  return Object.keys(others).length === 0 && typeof format === "number" && typeof key === "string" &&
    typeof data === "string";
}

/**
 * @param {Message} message
 * @param {boolean} isReported
 */
export const messageItem = (message, isReported) =>
  make(
    "li",
    { class: isReported ? "message reported" : "message", "aria-current": isReported ? "true" : undefined },
    make(
      "p",
      { class: "meta" },
      link(["users", message.sender], message.sender),
      ` ${time(message.sentAt)} `,
      message.editedAt !== undefined && badge("edited", "quiet"),
      isReported && badge("reported", "bad"),
    ),
    make("p", { class: "text", dir: "auto" }, summary(message)),
  );
