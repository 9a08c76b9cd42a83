// @ts-check
import { decodeCounter, decodeList, decodeMessage, decodeObject, decodeText } from "../model/decode.js";
import { timetoken } from "../model/timetoken.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("./frames.js").FrameRequest} FrameRequest */

/**
 * The user's own state in one thread.
 *
 * @typedef {object} ThreadState
 * @property {string} thread The thread's first message.
 * @property {boolean} isFollowed
 * @property {number} readSeq The sequence number up to which no reply is unread.
 * @property {number} unread The number of unread replies, without the user's own.
 * @property {number} mentions The number of unread replies that mention the user or everyone.
 * @property {number} userRev The user revision of the user's last change in the thread; 0 for none.
 */

/**
 * A message with replies, and the user's own state in its thread.
 *
 * @typedef {object} MessageThread
 * @property {Message} parent The thread's first message. Its `replies` have the number of replies.
 * @property {Message | null} lastReply The newest reply; `null` if the user can't see it.
 * @property {ThreadState} state
 */

/** The maximum number of threads in a page. */
export const threadPageSize = 50;

/**
 * @param {string} conversation
 * @param {string | null} cursor
 * @returns {FrameRequest}
 */
export const listThreads = (conversation, cursor) => ({
  type: "threads",
  conversation,
  cursor: cursor ?? undefined,
  limit: threadPageSize,
});

/**
 * @param {JSONObject} json
 * @returns {ThreadState}
 */
export const decodeThreadState = (json) => ({
  thread: decodeText(json, "thread"),
  isFollowed: json["followed"] === true,
  readSeq: decodeCounter(json, "readSeq"),
  unread: decodeCounter(json, "unread"),
  mentions: decodeCounter(json, "mentions"),
  userRev: decodeCounter(json, "userRev"),
});

/**
 * Reads a page of threads.
 *
 * @param {JSONObject} body
 * @returns {{threads: MessageThread[], cursor: string | null}}
 */
export const decodeThreadPage = (body) => ({
  threads: decodeList(body["threads"], "threads", (thread) => {
    const { parent, lastReply, state } = decodeObject(thread, "threads");
    return {
      parent: decodeMessage(parent),
      lastReply: lastReply === undefined ? null : decodeMessage(lastReply),
      state: decodeThreadState(decodeObject(state, "state")),
    };
  }),
  cursor: body["cursor"] === undefined ? null : timetoken(decodeText(body, "cursor"), "cursor"),
});
