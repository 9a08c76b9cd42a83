// A message of any type as text.
import { time } from "../format.js";
import { badge, link, make } from "../parts/dom.js";

/** @typedef {import("../types.js").Message} Message */

/**
 * The text of a message, or its content as JSON if it has none.
 *
 * @param {Message} message
 */
export function summary({ type, content, deleted }) {
  if (deleted || content === undefined) return "(deleted)";
  const { text, name, encrypted } = /** @type {Record<string, unknown>} */ (content ?? {});
  if (encrypted !== undefined) return "(encrypted)";
  if (typeof text === "string") return type === "text" ? text : `[${type}] ${text}`;
  return `[${type}] ${typeof name === "string" ? name : JSON.stringify(content)}`;
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
