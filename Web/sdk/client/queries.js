// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import {
  decodeAttributes,
  decodeDate,
  decodeList,
  decodeMessage,
  decodeObject,
  decodePage,
  decodeText,
  optional,
} from "../model/decode.js";
import { standardLimits } from "../model/limits.js";
import { MessageContent } from "../model/message-content.js";
import { saveProfiles } from "../store/people.js";
import { saveThreads } from "../store/threads.js";
import { decodeProfile } from "../wire/frames.js";
import { decodeThreadPage, getHistory, listThreads } from "../wire/requests.js";

/** @typedef {import("../model/log.js").LogPage} LogPage */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../wire/frames.js").UserProfile} UserProfile */
/** @typedef {import("../wire/requests.js").HistoryQuery} HistoryQuery */
/** @typedef {import("./conversation.js").Member} Member */
/** @typedef {import("./conversation.js").ScheduledMessage} ScheduledMessage */
/** @typedef {import("./conversation.js").SearchPage} SearchPage */
/** @typedef {import("./core.js").Core} Core */

// The requests that read something from the server for an app or a screen. Each function throws the server's error, or
// `unreachable` without a connection.

/**
 * Fetches a page of history and stores it.
 *
 * @param {Core} core
 * @param {string} conversation
 * @param {HistoryQuery} query
 * @param {AbortSignal | undefined} signal
 * @param {(changedGaps: boolean) => void} stored Called before the observers of the conversation.
 * @returns {Promise<{page: LogPage, changedGaps: boolean}>}
 */
export async function fetchPage(core, conversation, query, signal, stored) {
  const page = decodePage(await core.request(getHistory(conversation, query), { signal }));
  const [outcome] = await core.apply(
    [{ type: "page", conversation, page }],
    ([outcome]) => stored(outcome?.changedGaps ?? false),
  );
  if (outcome?.behind) core.post({ type: "behind", position: outcome.behind });
  if (outcome?.needsHead) core.post({ type: "fetchHeads", ids: [conversation] });
  return { page, changedGaps: outcome?.changedGaps ?? false };
}

/**
 * Searches the messages of a conversation, or of all conversations.
 *
 * @param {Core} core
 * @param {{text: string, conversation?: string, limit?: number, cursor?: string, sort?: "newestFirst" | "bestFirst"}}
 *   query
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<SearchPage>}
 */
export async function search(core, query, signal) {
  const body = await core.request({ type: "search", ...query }, { signal });
  return {
    hits: decodeList(body["hits"], "hits", (hit) => {
      const json = decodeObject(hit, "hits");
      return { message: decodeMessage(json["message"]), ranges: /** @type {[number, number][]} */ (json["ranges"]) };
    }),
    cursor: optional(body, "cursor", decodeText),
    isIndexing: body["indexing"] === true,
  };
}

/**
 * @param {Core} core
 * @param {string} conversation
 * @param {AbortSignal | undefined} signal
 */
export async function pins(core, conversation, signal) {
  const body = await core.request({ type: "pins", conversation, limit: standardLimits.pageSize }, { signal });
  return decodeList(body["messages"], "messages", decodeMessage);
}

/**
 * @param {Core} core
 * @param {string} conversation
 * @param {AbortSignal | undefined} signal
 */
export async function members(core, conversation, signal) {
  /** @type {Member[]} */
  const members = [];
  /** @type {string | null} */
  let cursor = null;
  do {
    const request = { type: "members", conversation, cursor: cursor ?? undefined, limit: standardLimits.pageSize };
    const body = await core.request(request, { signal });
    for (const member of decodeList(body["members"], "members", (member) => decodeObject(member, "members"))) {
      members.push({ user: decodeText(member, "user"), role: decodeText(member, "role") });
    }
    cursor = optional(body, "cursor", decodeText);
  } while (cursor !== null);
  return members;
}

/**
 * @param {Core} core
 * @param {AbortSignal | undefined} signal
 */
export async function scheduledMessages(core, signal) {
  const body = await core.request({ type: "scheduled", limit: standardLimits.pageSize }, { signal });
  return decodeList(body["scheduled"], "scheduled", decodeScheduled);
}

/**
 * @param {unknown} value
 * @returns {ScheduledMessage}
 */
function decodeScheduled(value) {
  const json = decodeObject(value, "scheduled");
  const message = decodeObject(json["message"], "message");
  return {
    id: decodeText(message, "id"),
    conversation: ConversationID.parse(decodeText(json, "conversation")),
    content: new MessageContent(decodeText(message, "type"), decodeObject(message["content"], "content")),
    attributes: decodeAttributes(message),
    sendAt: decodeDate(message, "sendAt"),
    failure: optional(json, "failure", decodeText),
  };
}

/**
 * Fetches a page of threads, and stores them.
 *
 * @param {Core} core
 * @param {string} conversation
 * @param {string | null} before
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<string | null>} The cursor of the next page.
 */
export async function fetchThreads(core, conversation, before, signal) {
  const page = decodeThreadPage(await core.request(listThreads(conversation, before), { signal }));
  await core.store.write((transaction) => saveThreads(transaction, conversation, page, before), {
    stores: ["threads"],
  });
  return page.cursor;
}

/**
 * Fetches the profiles of up to 100 users, and stores them.
 *
 * @param {Core} core
 * @param {string[]} users
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<UserProfile[]>}
 */
export async function fetchProfiles(core, users, signal) {
  const body = await core.request({ type: "users", users }, { signal });
  const found = decodeList(body["users"], "users", decodeProfile);
  await core.store.write((transaction) => saveProfiles(transaction, found, users, Date.now()), {
    stores: ["people"],
  });
  return found;
}
