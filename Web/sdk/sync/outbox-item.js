// @ts-check

/** @typedef {import("../model/conversation-id.js").ConversationID} ConversationID */
/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */
/** @typedef {import("../model/message-id.js").MessageID} MessageID */

/**
 * The state of an outgoing item.
 *
 * - `queued`: waiting for its turn
 * - `uploading`: the files are being uploaded
 * - `sending`: transmitted and waiting for the answer
 * - `waiting`: temporarily rejected; the rest of the queue waits too
 * - `failed`: permanently rejected or expired; the rest of the queue continues
 *
 * @typedef {{ type: "queued" } | { type: "uploading" } | { type: "sending" } | { type: "waiting", until: number }
 *   | { type: "failed", error: ScrollbackError }} OutboxState
 */

/**
 * The outbox's record of an outgoing item; its content is in the store. The outbox replaces records and never changes
 * one. A store must save the error of a failed item with `toJSON`, because IndexedDB keeps only the message of errors.
 *
 * @typedef {object} OutboxItem
 * @property {MessageID} id The ID, which is the same for every retry and makes retries idempotent.
 * @property {ConversationID} conversation
 * @property {number} ordinal The position in the queue; items with lower ordinals are sent first.
 * @property {number} createdAt The time in milliseconds since 1970.
 * @property {boolean} isMessage Whether the item sends a message, so that the send rate applies to it.
 * @property {OutboxState} state
 * @property {boolean} needsUpload Whether files must be uploaded before the item is sent.
 * @property {number} attempts The number of transmissions; before the upload is complete, the number of upload
 *   attempts.
 * @property {boolean} wasTransmitted Whether the item was ever transmitted. From then on its submission must not
 *   change, because the server may have it.
 */

/**
 * Returns an item that was never transmitted.
 *
 * @param {Pick<OutboxItem, "id" | "conversation" | "ordinal" | "createdAt"> & Partial<OutboxItem>} fields
 * @returns {OutboxItem}
 */
export const outboxItem = (fields) => ({
  isMessage: true,
  state: { type: "queued" },
  needsUpload: false,
  attempts: 0,
  wasTransmitted: false,
  ...fields,
});
