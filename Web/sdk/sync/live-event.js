// @ts-check

/** @typedef {import("../model/conversation-id.js").ConversationID} ConversationID */
/** @typedef {import("../model/log.js").LogChange} LogChange */
/** @typedef {import("../model/log.js").LogHead} LogHead */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../model/timetoken.js").Epoch} Epoch */

/**
 * An event about a log that the server sends without a request.
 *
 * - `message`: a new message
 * - `changed`: an entry of the change log
 * - `head`: the state of a log, sent instead of its individual events, with the newest message for the recents list if
 *   a message arrived, and whether earlier counts may have changed
 * - `hidden`: sequence numbers that the user deleted for themselves, on this or another device
 *
 * @typedef {{ type: "message", conversation: ConversationID, message: Message }
 *   | { type: "changed", conversation: ConversationID, epoch: Epoch, change: LogChange }
 *   | { type: "head", conversation: ConversationID, head: LogHead, last: Message | null, altersCounts: boolean }
 *   | { type: "hidden", conversation: ConversationID, epoch: Epoch, ranges: readonly SeqRange[] }} LiveEvent
 */

export {};
