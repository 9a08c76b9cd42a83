// @ts-check

/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * A text that was not sent.
 *
 * @typedef {object} Draft
 * @property {string} text
 * @property {string | null} [replyTo] The message that it replies to.
 */

/**
 * Stores the draft of a conversation; an empty one deletes it.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {Draft | null} draft
 */
export async function saveDraft(transaction, conversation, draft) {
  const isEmpty = !draft || (draft.text === "" && !draft.replyTo);
  if (isEmpty) await transaction.delete("drafts", conversation);
  else await transaction.put("drafts", { conversation, draft });
}
