// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { MessageContent } from "../model/message-content.js";
import { outboxItem } from "../sync/outbox-item.js";

/** @typedef {import("../model/errors.js").Problem} Problem */
/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../model/message-id.js").MediaID} MediaID */
/** @typedef {import("../model/message-id.js").MessageID} MessageID */
/** @typedef {import("../model/message-type.js").MessageType} MessageType */
/** @typedef {import("../model/message.js").Mentions} Mentions */
/** @typedef {import("../model/message.js").Submission} Submission */
/** @typedef {import("../sync/outbox-item.js").OutboxItem} OutboxItem */
/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * New content of a message, of the same type, and changes of its attributes: `undefined` keeps one, and `null` removes
 * it.
 *
 * @typedef {object} MessageEdit
 * @property {MessageContent} content
 * @property {Mentions | null} [mentions]
 * @property {JSONObject | null} [metadata]
 * @property {unknown} [extra]
 * @property {string | null} [customType]
 */

/**
 * A change of the user's own state in a thread; `null` changes nothing.
 *
 * @typedef {object} ThreadChange
 * @property {string} thread The thread's first message.
 * @property {boolean | null} isFollowed
 * @property {{seq: number, epoch: string} | null} read The position up to which the user read the thread.
 */

/**
 * A request that the outbox keeps until the server answers it.
 *
 * This is a format of the local store: a change of the server's API does not change it. The row has the conversation.
 * `operation` makes a retry harmless.
 *
 * @typedef {{type: "send", submission: Submission}
 *   | {type: "schedule", submission: Submission, sendAt: Date, operation?: MessageID}
 *   | {type: "edit", message: string, operation: string, edit: MessageEdit}
 *   | {type: "delete", messages: string[], audience: "everyone" | "me"}
 *   | {type: "addAction", message: string, operation: string, action: string, value: string}
 *   | {type: "removeAction", message: string, operation: string, action: string, value: string}
 *   | {type: "changeThread"} & ThreadChange
 *   | {type: "putConversation", operation: string, exists: boolean | null, settings: JSONObject}
 *   | {type: "deleteConversation"}} OutboxRequest
 */

/**
 * A queued request in the store, in which `isFrozen` is `wasTransmitted` of the item.
 *
 * @typedef {Omit<OutboxItem, "state" | "wasTransmitted"> & {request: OutboxRequest, about: string | null,
 *   state: StoredState, isFrozen: boolean}} OutboxRow
 */

/**
 * The state of a queued request in the store. `unconfirmed` means that the server may have lost a message that it had.
 *
 * @typedef {{type: "queued"} | {type: "uploading"} | {type: "sending"} | {type: "waiting", until: number}
 *   | {type: "failed", problem: Problem} | {type: "unconfirmed"}} StoredState
 */

/** Returns whether a request changes messages, and is not a message itself. @param {OutboxRequest} request */
const isMessageChange = ({ type }) => !["send", "schedule", "putConversation", "deleteConversation"].includes(type);

/**
 * @param {OutboxRow} row
 * @returns {OutboxItem}
 */
function itemOf({ request: _, about: _about, state, isFrozen: wasTransmitted, ...fields }) {
  if (state.type === "unconfirmed") throw new ScrollbackError("local-storage", "The outbox is damaged.");
  const current = /** @type {OutboxItem["state"]} */ (
    state.type === "failed" ? { type: "failed", error: ScrollbackError.from(state.problem) } : state
  );
  return { ...fields, wasTransmitted, state: current };
}

/**
 * Returns the request of a row, whose content has lost its class in the store.
 *
 * @param {OutboxRow} row
 * @returns {OutboxRequest}
 */
function requestOf({ request }) {
  /** @param {MessageContent} content */
  const restored = ({ type, json }) => new MessageContent(type, json);
  if ("submission" in request) {
    const { submission } = request;
    return { ...request, submission: { ...submission, content: restored(submission.content) } };
  }
  if (request.type !== "edit") return request;
  return { ...request, edit: { ...request.edit, content: restored(request.edit.content) } };
}

/**
 * A message that the server has not stored yet, and its progress.
 *
 * @typedef {{submission: Submission, item: OutboxItem}} QueuedMessage
 */

/**
 * Returns all queued items, in order, and deletes the refused changes that are too old to be sent again. No screen
 * shows refused changes.
 *
 * @param {Transaction} transaction
 * @param {number} oldest Changes that were queued before this time are too old.
 * @returns {Promise<OutboxItem[]>}
 */
export async function outboxItems(transaction, oldest) {
  /** @type {OutboxItem[]} */
  const items = [];
  for (const row of await transaction.allOf("outbox", "ordinal")) {
    if (row.state.type === "failed" && row.createdAt < oldest && !("submission" in row.request)) {
      transaction.delete("outbox", row.id);
    } else if (row.state.type !== "unconfirmed") items.push(itemOf(row));
  }
  return items;
}

/**
 * Returns the number of messages and changes that the server has not acknowledged.
 *
 * @param {Transaction} transaction
 */
export const outboxCount = (transaction) => transaction.count("outbox");

/**
 * Returns the number of messages and changes that the user would lose with the store. Changes that the server refused
 * have no effect, and no screen shows them.
 *
 * @param {Transaction} transaction
 */
export async function unsentCount(transaction) {
  /** @type {OutboxRow[]} */
  const rows = await transaction.allOf("outbox", "ordinal");
  return rows.filter(({ request, state }) => state.type !== "failed" || !isMessageChange(request)).length;
}

/**
 * Returns the IDs of the items that wait to be sent, in order.
 *
 * @param {Transaction} transaction
 * @returns {Promise<string[]>}
 */
export async function queuedIDs(transaction) {
  /** @type {OutboxRow[]} */
  const rows = await transaction.allOf("outbox", "ordinal");
  return rows.filter(({ state }) => state.type === "queued").map(({ id }) => id);
}

/**
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<OutboxItem | null>}
 */
export async function outboxItemOf(transaction, id) {
  const row = await transaction.get("outbox", id);
  return row && row.state.type !== "unconfirmed" ? itemOf(row) : null;
}

/**
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<OutboxRequest | null>}
 */
export async function outboxRequest(transaction, id) {
  const row = await transaction.get("outbox", id);
  return row ? requestOf(row) : null;
}

/**
 * Returns the queued requests of a conversation, in order.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<OutboxRow[]>}
 */
const rowsIn = (transaction, id) =>
  transaction.allOf("outbox", "conversation", IDBKeyRange.bound([id, 0], [id, Number.MAX_SAFE_INTEGER]));

/**
 * Returns the queued messages of a conversation, and the queued changes of its messages, both in order.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<{messages: QueuedMessage[], changes: OutboxRequest[]}>}
 */
export async function queuedIn(transaction, id) {
  /** @type {QueuedMessage[]} */
  const messages = [];
  /** @type {OutboxRequest[]} */
  const changes = [];
  for (const row of await rowsIn(transaction, id)) {
    if (row.state.type === "unconfirmed") continue;
    const request = requestOf(row);
    if (request.type === "send") messages.push({ submission: request.submission, item: itemOf(row) });
    else if (row.state.type !== "failed" && isMessageChange(request)) changes.push(request);
  }
  return { messages, changes };
}

/**
 * Returns the queued changes of the user's threads, in order, without those that failed.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @returns {Promise<ThreadChange[]>}
 */
export async function threadChanges(transaction, id) {
  const rows = await rowsIn(transaction, id);
  return rows.flatMap(({ request, state }) =>
    request.type === "changeThread" && state.type !== "failed" ? [request] : []
  );
}

/**
 * Returns the error of an item whose conversation the server does not know; `null` if no earlier request creates it.
 *
 * If the server refused that request, it is the error of that request. Otherwise, it is temporary: uploads do not wait
 * for that request.
 *
 * @param {Transaction} transaction
 * @param {OutboxItem} item
 */
export async function creationError(transaction, item) {
  for (const { request, state, ordinal } of await rowsIn(transaction, item.conversation)) {
    if (ordinal >= item.ordinal || request.type !== "putConversation" || request.exists !== false) continue;
    if (state.type === "failed") return ScrollbackError.from(state.problem);
    const message = "The server has not created the conversation yet.";
    return new ScrollbackError("unknown-conversation", message, { isTemporary: true });
  }
  return null;
}

/**
 * Returns whether a conversation has queued requests that did not fail.
 *
 * @param {Transaction} transaction
 * @param {string} id
 */
export async function isAwaited(transaction, id) {
  return (await rowsIn(transaction, id)).some(({ state }) => state.type !== "failed");
}

/**
 * Adds a request to the outbox.
 *
 * @param {Transaction} transaction
 * @param {{id: string, conversation: string, request: OutboxRequest, about?: string | null, now: number,
 *   state?: StoredState, isFrozen?: boolean, needsUpload?: boolean}} fields
 */
export async function insertIntoOutbox(transaction, { id, conversation, request, about = null, now, ...others }) {
  let ordinal = 1;
  await transaction.descend("outbox", "ordinal", null, (row) => {
    ordinal = row.ordinal + 1;
    return false;
  });
  const isMessage = request.type === "send";
  const { wasTransmitted: isFrozen, ...item } = outboxItem({ id, conversation, ordinal, createdAt: now, isMessage });
  transaction.put("outbox", { ...item, isFrozen, ...others, request, about });
}

/**
 * Stores the state of an item.
 *
 * @param {Transaction} transaction
 * @param {OutboxItem} item
 */
export async function saveOutboxItem(transaction, { id, state, attempts, wasTransmitted, needsUpload }) {
  const row = await transaction.get("outbox", id);
  if (!row) return;
  const stored = state.type === "failed" ? { type: "failed", problem: state.error.toJSON() } : state;
  transaction.put("outbox", { ...row, state: stored, attempts, isFrozen: wasTransmitted, needsUpload });
}

/**
 * Replaces the content of a queued message that was never transmitted.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {(submission: Submission) => Submission} change
 * @returns {Promise<boolean>} `false` if the message is not in the outbox or may have reached the server.
 */
export async function replaceUnsent(transaction, id, change) {
  const row = await transaction.get("outbox", id);
  if (!row || row.isFrozen || row.request.type !== "send") return false;
  transaction.put("outbox", { ...row, request: { type: "send", submission: change(row.request.submission) } });
  return true;
}

/**
 * Removes a request and its file.
 *
 * @param {Transaction} transaction
 * @param {string} id
 */
export function removeFromOutbox(transaction, id) {
  transaction.delete("outbox", id);
  removeFile(transaction, id);
}

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
