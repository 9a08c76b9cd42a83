// @ts-check
import { getMeta, setMeta } from "./meta.js";

/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * A text that was not sent.
 *
 * @typedef {object} Draft
 * @property {string} text
 * @property {string | null} [replyTo] The message that it replies to.
 */

/**
 * A draft in the store. A deleted draft stays as a row without a text, so that older changes of it are ignored.
 *
 * @typedef {object} DraftRow
 * @property {string} conversation
 * @property {Draft | null} draft
 * @property {number} [rev] The user revision of the newest change of the server; 0 or none if the server has none.
 * @property {number} [pending] The number of the change on this device that the server has not accepted.
 */

/**
 * @param {Transaction} transaction
 * @param {string} conversation
 * @returns {Promise<Draft | null>}
 */
export async function draftOf(transaction, conversation) {
  const row = await transaction.get("drafts", conversation);
  return row?.draft ?? null;
}

/**
 * Stores the draft of a conversation that the user changed; an empty one deletes it.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {Draft} draft
 * @returns {Promise<boolean>} Whether it changed, so that the server must receive it.
 */
export async function saveDraft(transaction, conversation, { text, replyTo = null }) {
  const draft = text === "" && replyTo === null ? null : { text, replyTo };
  return await replaceDraft(
    transaction,
    conversation,
    draft,
    (current) => JSON.stringify(current) !== JSON.stringify(draft),
  );
}

/**
 * Deletes the draft of a conversation if it has a text that was sent.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {string | null} text
 * @returns {Promise<boolean>} Whether it changed, so that the server must receive it.
 */
export const deleteSentDraft = (transaction, conversation, text) =>
  replaceDraft(transaction, conversation, null, (current) => current !== null && current.text === text);

/**
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {Draft | null} draft
 * @param {(current: Draft | null) => boolean} applies Whether the current draft is replaced.
 */
async function replaceDraft(transaction, conversation, draft, applies) {
  /** @type {[DraftRow | undefined, number | null]} */
  const [row, version] = await Promise.all([
    transaction.get("drafts", conversation),
    getMeta(transaction, "draftVersion"),
  ]);
  if (!applies(row?.draft ?? null)) return false;
  const pending = (version ?? 0) + 1;
  setMeta(transaction, "draftVersion", pending);
  transaction.put("drafts", { ...row, conversation, draft, pending });
  return true;
}
