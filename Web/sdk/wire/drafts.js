// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { decodeCounter, decodeList, decodeObject, decodeText } from "../model/decode.js";

/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../store/drafts.js").Draft} Draft */
/** @typedef {import("./frames.js").FrameRequest} FrameRequest */

/**
 * A draft as the server stores it.
 *
 * @typedef {object} SyncedDraft
 * @property {string} conversation
 * @property {Draft | null} draft `null` if it was deleted.
 * @property {number} rev The user revision of the change. Of two drafts, the one with the higher revision is newer.
 */

/**
 * A page of the list of drafts.
 *
 * @typedef {object} DraftPage
 * @property {SyncedDraft[]} drafts
 * @property {string} cursor
 * @property {boolean} hasMore Whether more drafts follow.
 * @property {boolean} isReset Whether the list begins with the first draft.
 */

/**
 * @param {string | null} cursor
 * @returns {FrameRequest}
 */
export const listDrafts = (cursor) => ({ type: "drafts", cursor: cursor ?? undefined });

/**
 * @param {string} conversation
 * @param {Draft | null} draft
 * @returns {FrameRequest}
 */
export const putDraft = (conversation, draft) => ({
  type: "putDraft",
  conversation,
  draft: draft ? { text: draft.text, replyTo: draft.replyTo ?? undefined } : undefined,
});

/**
 * Reads a draft.
 *
 * @param {JSONObject} json
 * @returns {SyncedDraft | null} `null` for a draft that this SDK can't read, because it is encrypted.
 */
export function decodeDraft(json) {
  const conversation = ConversationID.parse(decodeText(json, "conversation"));
  const rev = decodeCounter(json, "rev");
  if (json["draft"] === undefined || json["draft"] === null) return { conversation, draft: null, rev };
  const { text, replyTo } = decodeObject(json["draft"], "draft");
  if (typeof text !== "string") return null;
  return { conversation, draft: { text, replyTo: typeof replyTo === "string" ? replyTo : null }, rev };
}

/**
 * @param {JSONObject} body
 * @returns {DraftPage}
 */
export const decodeDraftPage = (body) => ({
  drafts: decodeList(body["drafts"], "drafts", (draft) => decodeDraft(decodeObject(draft, "drafts")))
    .filter((draft) => draft !== null),
  cursor: decodeText(body, "cursor"),
  hasMore: body["more"] === true,
  isReset: body["reset"] === true,
});
