// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { decodeCounter, decodeList, decodeMessage, decodeObject, decodeText, optional } from "../model/decode.js";
import { timetoken } from "../model/timetoken.js";

/** @typedef {import("../model/conversation-head.js").EpochPosition} EpochPosition */
/** @typedef {import("../model/conversation-head.js").StateChange} StateChange */
/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/message.js").MessageAttributes} MessageAttributes */
/** @typedef {import("../model/message.js").Submission} Submission */
/** @typedef {import("../store/drafts.js").Draft} Draft */
/** @typedef {import("./frames.js").FrameRequest} FrameRequest */

// The requests that the client sends, as Documentation/protocol.md lists them, and drafts and threads in answers. A
// member that is `undefined` is left out of the frame.

/**
 * A point in a log: `latest`, `earliest`, `firstUnread`, a sequence number, a message, a timetoken or a date.
 *
 * @typedef {"latest" | "earliest" | "firstUnread" | {seq: number} | {id: string} | {timetoken: string} | Date}
 *   HistoryPoint
 */

/**
 * A page of history: its start, its direction and its size. At most one of `before`, `after`, `around` and `cursor`.
 *
 * @typedef {object} HistoryQuery
 * @property {HistoryPoint} [before] Reads messages older than this point.
 * @property {HistoryPoint} [after] Reads messages newer than this point.
 * @property {HistoryPoint} [around] Reads messages on both sides of this point.
 * @property {string} [cursor] Continues a page.
 * @property {number} [limit] The maximum number of messages, 0...100.
 * @property {number} [beforeLimit] The maximum number of older messages around a point, 0...100.
 * @property {number} [afterLimit] The maximum number of newer messages around a point, 0...100.
 * @property {"newestFirst" | "oldestFirst"} [sort]
 * @property {string[]} [types] The filters, of which all must match; see `Documentation/protocol.md`.
 * @property {string[]} [excludedTypes]
 * @property {string[]} [customTypes]
 * @property {string[]} [senders]
 * @property {boolean} [mentionsMe]
 * @property {boolean} [hasMedia]
 * @property {string} [thread]
 * @property {boolean} [excludesReplies]
 */

/**
 * Returns the text form of a point.
 *
 * @param {HistoryPoint | undefined} point
 */
function pointText(point) {
  if (point === undefined || typeof point === "string") return point;
  if (point instanceof Date) return point.toISOString();
  if ("seq" in point) return `seq:${point.seq}`;
  return "id" in point ? `id:${point.id}` : `timetoken:${point.timetoken}`;
}

/**
 * @param {string} conversation
 * @param {HistoryQuery} query
 * @returns {FrameRequest}
 */
export const getHistory = (conversation, { before, after, around, ...others }) => ({
  type: "history",
  conversation,
  before: pointText(before),
  after: pointText(after),
  around: pointText(around),
  ...others,
});

/**
 * Returns the members of attributes.
 *
 * @param {MessageAttributes} attributes
 */
export function attributeMembers({ mentions, traits, priority, ...others }) {
  const flags = {
    storeInHistory: traits?.isStored,
    countsUnread: traits?.countsUnread,
    notifies: traits?.notifies,
    updatesRecents: traits?.updatesRecents,
  };
  return {
    ...others,
    mentions: mentions && {
      everyone: mentions.everyone || undefined,
      users: mentions.users.length > 0 ? mentions.users : undefined,
      pushText: mentions.pushText,
    },
    flags: Object.values(flags).includes(false) ? flags : undefined,
    priority: priority === "normal" ? undefined : priority,
  };
}

/** @param {Submission} submission */
export const submissionMembers = ({ id, content, attributes }) => ({
  id,
  type: content.type,
  content: content.json,
  ...attributeMembers(attributes),
});

/**
 * @param {string | null} cursor
 * @param {number} limit
 * @returns {FrameRequest}
 */
export const syncWindow = (cursor, limit) => ({ type: "sync", cursor: cursor ?? undefined, limit });

/**
 * @param {readonly LogPosition[]} positions
 * @returns {FrameRequest}
 */
export const syncLogs = (positions) => ({ type: "sync", positions });

/** The maximum number of conversations in a request for heads. */
export const maximumHeads = 100;

/**
 * @param {readonly string[]} conversations
 * @returns {FrameRequest}
 */
export const getHeads = (conversations) => ({ type: "heads", conversations });

/** The maximum number of conversations in a request that marks several as read. */
export const maximumReads = 500;

/**
 * A read marker in one of several conversations. `userRev` is the newest user revision that the device knew.
 *
 * @typedef {{conversation: string, seq: number, epoch: string, userRev: number | null}} ReadMark
 */

/** @param {ReadMark} mark */
const markMembers = ({ conversation, seq, epoch, userRev }) => ({
  conversation,
  seq,
  epoch,
  userRev: userRev ?? undefined,
});

/**
 * @param {readonly ReadMark[]} marks
 * @returns {FrameRequest}
 */
export const markSeveralRead = (marks) => ({ type: "readMany", conversations: marks.map(markMembers) });

/** The maximum number of conversations in a request that reports deliveries. */
export const maximumDeliveries = 500;

/**
 * The sequence number through which a device has stored the messages of one conversation.
 *
 * @typedef {{conversation: string, seq: number, epoch: string}} DeliveryMark
 */

/**
 * @param {readonly DeliveryMark[]} marks
 * @returns {FrameRequest}
 */
export const reportDelivered = (marks) => ({ type: "delivered", conversations: marks });

/**
 * Returns the request that sends a change of the user's own state.
 *
 * @param {string} conversation
 * @param {StateChange} change
 * @returns {FrameRequest}
 */
export function changeState(conversation, change) {
  /** @param {EpochPosition | null} at */
  const place = (at) => ({ seq: at?.seq, epoch: at?.epoch });
  switch (change.type) {
    case "read":
      return { type: "read", ...markMembers({ ...change, conversation }) };
    case "settings":
      return {
        type: "settings",
        conversation,
        muted: change.isMuted ?? undefined,
        pinned: change.isPinned ?? undefined,
      };
    case "notifications":
      return { type: "notifications", conversation, notifications: change.level };
    case "removeRecent":
      return {
        type: "removeRecent",
        conversation,
        ...place(change.at),
        stopRoaming: change.excludesFromNewDevices || undefined,
      };
    case "excludeFromNewDevices":
      return { type: "stopRoaming", conversation, ...place(change.at) };
    case "markUnread":
    case "addRecent":
      return { type: change.type, conversation };
  }
}

/** The maximum number of messages in a request for their current state. */
export const maximumRefreshed = 20;

/**
 * @param {readonly {conversation: string, id: string}[]} messages
 * @returns {FrameRequest}
 */
export const refreshMessages = (messages) => ({ type: "refresh", messages });

/**
 * The registration of a browser for pushes.
 *
 * @typedef {object} PushDevice
 * @property {string} device
 * @property {"web"} service
 * @property {string} token The endpoint of the subscription.
 * @property {string | undefined} language
 * @property {{p256dh: string, auth: string}} keys
 */

/** @returns {FrameRequest} */
export const listPushDevices = () => ({ type: "pushDevices" });

/**
 * @param {PushDevice} device
 * @returns {FrameRequest}
 */
export const putPushDevice = (device) => ({ type: "putPushDevice", ...device });

/**
 * @param {string} device
 * @returns {FrameRequest}
 */
export const dropPushDevice = (device) => ({ type: "dropPushDevice", device });

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
  cursor: optional(body, "cursor", (json, name) => timetoken(decodeText(json, name), name)),
});
