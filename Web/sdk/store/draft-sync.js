// @ts-check
import { getMeta, setMeta } from "./meta.js";

/** @typedef {import("../wire/requests.js").SyncedDraft} SyncedDraft */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./drafts.js").Draft} Draft */
/** @typedef {import("./drafts.js").DraftRow} DraftRow */

/**
 * What to do next to synchronize drafts: list those that other devices changed, or send one of this device.
 *
 * @typedef {{type: "list", cursor: string | null, report: number | true | null}
 *   | {type: "send", conversation: string, draft: Draft | null, version: number}} DraftStep
 */

/**
 * Returns the next step, or `null` if this device and the server have the same drafts.
 *
 * A device without a cursor lists before it sends its first draft: a list without a cursor has no deletions, so a draft
 * that another device deleted later would be sent again.
 *
 * @param {Transaction} transaction
 * @returns {Promise<DraftStep | null>}
 */
export async function nextDraftStep(transaction) {
  const cursor = await getMeta(transaction, "draftCursor");
  /** @type {DraftRow[]} */
  const [first] = await transaction.allOf("drafts", "pending", null, 1);
  const report = await getMeta(transaction, "draftsAreBehind");
  if (report || (first && cursor === null)) return { type: "list", cursor, report };
  if (first?.pending === undefined) return null;
  return { type: "send", conversation: first.conversation, draft: first.draft, version: first.pending };
}

/**
 * Ends the transmission of a draft, unless the user changed it again in the meantime.
 *
 * @param {Transaction} transaction
 * @param {Extract<DraftStep, {type: "send"}>} sent
 * @param {number | null} rev The user revision of the change; `null` if the server refused it.
 */
export async function draftAccepted(transaction, { conversation, version }, rev) {
  /** @type {DraftRow | undefined} */
  const row = await transaction.get("drafts", conversation);
  if (!row) return;
  const { pending, ...others } = row;
  const accepted = { ...others, rev: Math.max(row.rev ?? 0, rev ?? 0) };
  transaction.put("drafts", pending === version ? accepted : { ...accepted, pending });
}

/**
 * Stores a draft of the server, unless this device has a newer one.
 *
 * @param {Transaction} transaction
 * @param {SyncedDraft} synced
 * @returns {Promise<boolean>} Whether the draft was stored.
 */
export async function applyDraft(transaction, { conversation, draft, rev }) {
  /** @type {DraftRow | undefined} */
  const row = await transaction.get("drafts", conversation);
  if (rev <= (row?.rev ?? 0) || row?.pending !== undefined) return false;
  transaction.put("drafts", { conversation, draft, rev });
  return true;
}

/**
 * Stores a draft that another device changed at this moment.
 *
 * @param {Transaction} transaction
 * @param {SyncedDraft} synced
 * @returns {Promise<boolean>} Whether the draft was stored.
 */
export async function receiveDraft(transaction, synced) {
  // The first list has no deletions, so this device must not have drafts of the server before it.
  const hasList = await getMeta(transaction, "draftCursor") !== null;
  const row = await transaction.get("drafts", synced.conversation);
  // If the server accepted this device's draft before this change, this change is newer. The list shows which one is.
  // The server reports this device's own change too, which has the same text.
  const isUnclear = row?.pending !== undefined && JSON.stringify(row.draft) !== JSON.stringify(synced.draft);
  // A list that is still to come may be older than this change, and replaces it after a reset.
  if (!hasList || isUnclear || await getMeta(transaction, "draftsAreBehind")) markDraftsBehind(transaction);
  return hasList && await applyDraft(transaction, synced);
}

/**
 * Stores a page of the server's list.
 *
 * @param {Transaction} transaction
 * @param {import("../wire/requests.js").DraftPage} page
 * @param {Extract<DraftStep, {type: "list"}>} sent The page may lack drafts that were reported after this request.
 * @returns {Promise<string[]>} The conversations whose draft changed.
 */
export async function storeDrafts(transaction, { drafts, cursor, hasMore, isReset }, { report }) {
  if (isReset) {
    for (const row of await transaction.all("drafts")) transaction.put("drafts", { ...row, rev: 0 });
  }
  const changed = [];
  for (const draft of drafts) if (await applyDraft(transaction, draft)) changed.push(draft.conversation);
  setMeta(transaction, "draftCursor", cursor);
  if (hasMore || await getMeta(transaction, "draftsAreBehind") !== report) {
    markDraftsBehind(transaction);
  } else {
    setMeta(transaction, "draftsAreBehind", 0);
    await queueUnknownDrafts(transaction);
  }
  return changed;
}

/**
 * Queues the drafts that the server doesn't have, because it lost or refused them, or because they are older than the
 * synchronization.
 *
 * @param {Transaction} transaction
 */
async function queueUnknownDrafts(transaction) {
  let version = await getMeta(transaction, "draftVersion") ?? 0;
  for (const row of await transaction.all("drafts")) {
    if (!row.draft || row.rev > 0 || row.pending !== undefined) continue;
    transaction.put("drafts", { ...row, pending: ++version });
  }
  setMeta(transaction, "draftVersion", version);
}

/**
 * Records that the server has drafts that this device has not listed.
 *
 * @param {Transaction} transaction
 */
export const markDraftsBehind = (transaction) => setMeta(transaction, "draftsAreBehind", Math.random());
