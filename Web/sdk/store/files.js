// @ts-check

/** @typedef {import("../model/message-id.js").MediaID} MediaID */
/** @typedef {import("../model/message-id.js").MessageID} MessageID */
/** @typedef {import("../model/message-type.js").MessageType} MessageType */
/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * The file of a queued message. It is deleted when the message leaves the outbox.
 *
 * @typedef {object} QueuedFile
 * @property {MessageID} message
 * @property {MediaID} media The ID of the file on the server.
 * @property {MessageType} type The type of the message.
 * @property {string | null} name
 * @property {Blob} blob
 * @property {string | null} upload The path of the upload on the server; `null` before it has begun.
 * @property {boolean} isDone Whether the server has the file.
 */

/**
 * @param {Transaction} transaction
 * @param {QueuedFile} file
 */
export const saveFile = (transaction, file) => transaction.put("files", file);

/**
 * @param {Transaction} transaction
 * @param {MessageID} message
 * @returns {Promise<QueuedFile | null>}
 */
export const fileOf = async (transaction, message) => await transaction.get("files", message) ?? null;

/**
 * Returns the bytes of a queued file.
 *
 * @param {Transaction} transaction
 * @param {MediaID} media
 * @returns {Promise<Blob | null>}
 */
export async function queuedBytes(transaction, media) {
  const [file] = await transaction.allOf("files", "media", media, 1);
  return file?.blob ?? null;
}

/**
 * Stores the progress of an upload, unless the message was cancelled.
 *
 * @param {Transaction} transaction
 * @param {MessageID} message
 * @param {Partial<Pick<QueuedFile, "upload" | "isDone">>} progress
 * @returns {Promise<boolean>} Whether the message has a file.
 */
export async function saveUploadProgress(transaction, message, progress) {
  const file = await fileOf(transaction, message);
  if (file) saveFile(transaction, { ...file, ...progress });
  return file !== null;
}

/**
 * @param {Transaction} transaction
 * @param {MessageID} message
 */
export const removeFile = (transaction, message) => transaction.delete("files", message);
