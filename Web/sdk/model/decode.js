// @ts-check
import { ConversationID } from "./conversation-id.js";
import { ScrollbackError } from "./errors.js";
import { MessageContent } from "./message-content.js";
import { messageID } from "./message-id.js";
import { Message } from "./message.js";
import { SeqRangeSet } from "./seq-range-set.js";
import { epoch, timetoken } from "./timetoken.js";

/** @typedef {import("./conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("./conversation-head.js").Mute} Mute */
/** @typedef {import("./conversation-head.js").ReadSummary} ReadSummary */
/** @typedef {import("./conversation-kind.js").NotificationLevel} NotificationLevel */
/** @typedef {import("./log.js").Coverage} Coverage */
/** @typedef {import("./log.js").LogChange} LogChange */
/** @typedef {import("./log.js").LogHead} LogHead */
/** @typedef {import("./log.js").LogPage} LogPage */
/** @typedef {import("./log.js").LogSync} LogSync */
/** @typedef {import("./message-content.js").JSONObject} JSONObject */
/** @typedef {import("./message-type.js").MessageTraits} MessageTraits */
/** @typedef {import("./message.js").ActionSummary} ActionSummary */
/** @typedef {import("./message.js").MessageAction} MessageAction */
/** @typedef {import("./message.js").MessageAttributes} MessageAttributes */
/** @typedef {import("./message.js").ReplySummary} ReplySummary */
/** @typedef {import("./message.js").TransientMessage} TransientMessage */

// The values that answers and events contain, from parsed JSON (Documentation/protocol.md). Members that this version
// does not know are ignored. A missing or invalid member is `invalid-parameter`, which names it.

/**
 * @param {string} name
 * @param {string} expected
 */
const mismatch = (name, expected) => ScrollbackError.invalidParameter(name, `must be ${expected}`);

/**
 * Returns a value that must be an object.
 *
 * @param {unknown} value
 * @param {string} name The name of the member in the error.
 * @returns {JSONObject}
 */
export function decodeObject(value, name) {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return /** @type {JSONObject} */ (value);
  throw mismatch(name, "an object");
}

/**
 * Returns the elements of a value that must be a list.
 *
 * @template Element
 * @param {unknown} value
 * @param {string} name The name of the member in the error.
 * @param {(element: unknown) => Element} element
 * @returns {Element[]}
 */
export function decodeList(value, name, element) {
  if (Array.isArray(value)) return value.map(element);
  throw mismatch(name, "a list");
}

/**
 * Returns a text member.
 *
 * @param {JSONObject} json
 * @param {string} name
 * @returns {string}
 */
export function decodeText(json, name) {
  const value = json[name];
  if (typeof value === "string") return value;
  throw value === undefined ? ScrollbackError.invalidParameter(name, "is missing") : mismatch(name, "a string");
}

/**
 * Returns a list of texts.
 *
 * @param {JSONObject} json
 * @param {string} name
 * @returns {string[]}
 */
const decodeTexts = (json, name) =>
  decodeList(json[name], name, (element) => {
    if (typeof element === "string") return element;
    throw mismatch(name, "a list of strings");
  });

/**
 * Returns a number that a server assigned or counted, such as a sequence number or a revision.
 *
 * @param {JSONObject} json
 * @param {string} name
 * @returns {number}
 * @throws {ScrollbackError} `invalid-parameter` if the number has more than 53 bits.
 */
export function decodeCounter(json, name) {
  const value = json[name];
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  if (value === undefined) throw ScrollbackError.invalidParameter(name, "is missing");
  throw mismatch(name, `in -${Number.MAX_SAFE_INTEGER}...${Number.MAX_SAFE_INTEGER}`);
}

/**
 * Returns a member that can be absent.
 *
 * @template Value
 * @param {JSONObject} json
 * @param {string} name
 * @param {(json: JSONObject, name: string) => Value} decode
 * @returns {Value | null}
 */
export const optional = (json, name, decode) =>
  json[name] === undefined || json[name] === null ? null : decode(json, name);

/**
 * @param {JSONObject} json
 * @param {string} name
 */
const decodeMember = (json, name) => decodeObject(json[name], name);

/**
 * @param {JSONObject} json
 * @param {string} name
 */
const counterOrZero = (json, name) => optional(json, name, decodeCounter) ?? 0;

/**
 * @param {JSONObject} json
 * @param {string} name
 */
function decodeFlag(json, name) {
  const value = json[name];
  if (typeof value === "boolean") return value;
  throw mismatch(name, "true or false");
}

/**
 * @param {JSONObject} json
 * @param {string} name
 */
const flagOrFalse = (json, name) => optional(json, name, decodeFlag) ?? false;

/**
 * @param {JSONObject} json
 * @param {string} name
 */
export function decodeDate(json, name) {
  const text = decodeText(json, name);
  const date = new Date(text);
  // `Date` reads other forms too, each engine in its own way.
  const isISO8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (isISO8601 && !Number.isNaN(date.getTime())) return date;
  throw mismatch(name, "an ISO 8601 time, for example 2026-11-21T10:00:00.000Z");
}

/**
 * Returns a list of pairs of sequence numbers, both inclusive.
 *
 * @param {JSONObject} json
 * @param {string} name
 * @returns {SeqRangeSet}
 */
export function decodeRanges(json, name) {
  return new SeqRangeSet(decodeList(json[name], name, (pair) => {
    const [lower, upper, ...rest] = Array.isArray(pair) ? pair : [];
    if (Number.isSafeInteger(lower) && Number.isSafeInteger(upper) && lower <= upper && rest.length === 0) {
      return [lower, upper];
    }
    throw mismatch(name, "[lower, upper]");
  }));
}

/**
 * @param {JSONObject} json
 * @returns {MessageAttributes}
 */
export function decodeAttributes(json) {
  /** @type {MessageAttributes} */
  const attributes = {};
  const mentions = optional(json, "mentions", decodeMember);
  if (mentions !== null) {
    attributes.mentions = {
      everyone: flagOrFalse(mentions, "everyone"),
      users: optional(mentions, "users", decodeTexts) ?? [],
      pushText: optional(mentions, "pushText", decodeText) ?? undefined,
    };
  }
  const metadata = optional(json, "metadata", decodeMember);
  if (metadata !== null) attributes.metadata = metadata;
  if (json["extra"] !== undefined && json["extra"] !== null) attributes.extra = json["extra"];
  const customType = optional(json, "customType", decodeText);
  if (customType !== null) attributes.customType = customType;
  const push = optional(json, "push", decodeMember);
  if (push !== null) attributes.push = push;
  const replyTo = optional(json, "replyTo", decodeText);
  if (replyTo !== null) attributes.replyTo = messageID(replyTo, "replyTo");
  const flags = optional(json, "flags", decodeMember);
  if (flags !== null) attributes.traits = decodeTraits(flags);
  const priority = optional(json, "priority", decodeText);
  if (priority === "low" || priority === "high") attributes.priority = priority;
  return attributes;
}

/**
 * @param {JSONObject} flags
 * @returns {Partial<MessageTraits>}
 */
function decodeTraits(flags) {
  /** @type {Partial<MessageTraits>} */
  const traits = {};
  if (flags["storeInHistory"] === false) traits.isStored = false;
  if (flags["countsUnread"] === false) traits.countsUnread = false;
  if (flags["notifies"] === false) traits.notifies = false;
  if (flags["updatesRecents"] === false) traits.updatesRecents = false;
  return traits;
}

/**
 * Whether a message is stored in a log.
 *
 * @param {JSONObject} json
 */
export const isStoredMessage = (json) => json["seq"] !== undefined;

/**
 * @param {unknown} value
 * @returns {Message}
 */
export function decodeMessage(value) {
  const json = decodeObject(value, "message");
  const type = decodeText(json, "type");
  const content = optional(json, "content", decodeMember);
  const thread = optional(json, "thread", decodeText);
  return new Message({
    conversation: ConversationID.parse(decodeText(json, "conversation")),
    seq: decodeCounter(json, "seq"),
    countedIndex: decodeCounter(json, "n"),
    id: messageID(decodeText(json, "id")),
    timetoken: timetoken(decodeText(json, "timetoken")),
    epoch: epoch(decodeText(json, "epoch")),
    sender: decodeText(json, "sender"),
    type,
    content: content === null ? null : new MessageContent(type, content),
    rev: counterOrZero(json, "rev"),
    attributes: decodeAttributes(json),
    editedAt: optional(json, "editedAt", decodeDate),
    thread: thread === null ? null : messageID(thread, "thread"),
    replies: optional(json, "replies", (json, name) => decodeReplies(decodeObject(json[name], name))),
    actions: optional(json, "actions", (json, name) => decodeList(json[name], name, decodeActionSummary)) ?? [],
  });
}

/**
 * @param {unknown} value
 * @returns {TransientMessage}
 */
export function decodeTransientMessage(value) {
  const json = decodeObject(value, "message");
  return {
    conversation: ConversationID.parse(decodeText(json, "conversation")),
    id: messageID(decodeText(json, "id")),
    timetoken: timetoken(decodeText(json, "timetoken")),
    sender: decodeText(json, "sender"),
    content: new MessageContent(decodeText(json, "type"), decodeObject(json["content"], "content")),
    attributes: decodeAttributes(json),
  };
}

/**
 * @param {JSONObject} json
 * @returns {ReplySummary}
 */
const decodeReplies = (json) => ({
  count: decodeCounter(json, "count"),
  lastReplyAt: timetoken(decodeText(json, "lastReplyAt"), "lastReplyAt"),
});

/**
 * @param {unknown} value
 * @returns {ActionSummary}
 */
function decodeActionSummary(value) {
  const json = decodeObject(value, "actions");
  return {
    type: decodeText(json, "type"),
    value: decodeText(json, "value"),
    count: decodeCounter(json, "count"),
    senders: decodeTexts(json, "senders"),
  };
}

/**
 * @param {unknown} value
 * @returns {MessageAction}
 */
export function decodeAction(value) {
  const json = decodeObject(value, "action");
  return {
    message: messageID(decodeText(json, "message"), "message"),
    timetoken: timetoken(decodeText(json, "timetoken")),
    sender: decodeText(json, "sender"),
    type: decodeText(json, "type"),
    value: decodeText(json, "value"),
  };
}

/**
 * @param {JSONObject} json An object with the members of a log's head, and possibly others.
 * @returns {LogHead}
 */
export function decodeLogHead(json) {
  const [head, firstSeq] = [decodeCounter(json, "head"), decodeCounter(json, "firstSeq")];
  if (firstSeq < 1 || firstSeq > head + 1) throw mismatch("firstSeq", "in 1...head + 1");
  return {
    epoch: epoch(decodeText(json, "epoch")),
    view: decodeCounter(json, "view"),
    head,
    firstSeq,
    countedIndex: decodeCounter(json, "n"),
    rev: decodeCounter(json, "rev"),
  };
}

/**
 * @param {JSONObject} json An object with the members of a page, and possibly others.
 * @returns {LogPage}
 */
export function decodePage(json) {
  const isFiltered = json["scanned"] !== undefined;
  const name = isFiltered ? "scanned" : "covered";
  const coverage = decodeObject(json[name], name);
  return {
    messages: decodeList(json["messages"], "messages", decodeMessage),
    coverage: {
      lower: decodeCounter(coverage, "lower"),
      upper: decodeCounter(coverage, "upper"),
      deletedRanges: optional(coverage, "voids", decodeRanges) ?? new SeqRangeSet(),
    },
    isFiltered,
    older: optional(json, "older", decodeText),
    newer: optional(json, "newer", decodeText),
    state: decodeLogHead(json),
    actions: optional(json, "actions", (json, name) => decodeList(json[name], name, decodeAction)) ?? [],
  };
}

/**
 * @param {unknown} value
 * @returns {LogChange}
 */
export function decodeChange(value) {
  const json = decodeObject(value, "change");
  if (json["message"] !== undefined) {
    const message = decodeMessage(json["message"]);
    return { type: "message", rev: message.rev, message };
  }
  const rev = decodeCounter(json, "rev");
  const removed = optional(json, "removed", decodeRanges);
  const range = removed?.ranges[0];
  return range === undefined ? { type: "invisible", rev } : { type: "removed", rev, range };
}

/**
 * @param {JSONObject} json An answer to `sync` for one conversation, without an error.
 * @returns {LogSync}
 */
export const decodeSync = (json) => ({
  page: decodePage(json),
  changes: decodeList(json["changes"], "changes", decodeChange),
  changedThrough: counterOrZero(json, "changedThrough"),
  mustRefetch: flagOrFalse(json, "mustRefetch"),
});

/**
 * @param {JSONObject} json
 * @returns {Mute | null}
 */
function decodeMute(json) {
  return json["mutedUntil"] === "forever" ? "forever" : optional(json, "mutedUntil", decodeDate);
}

/**
 * @param {JSONObject} json
 * @returns {NotificationLevel | null}
 */
function decodeNotifications(json) {
  const level = json["notifications"];
  return level === "all" || level === "mentions" || level === "none" ? level : null;
}

/**
 * @param {unknown} value
 * @returns {ConversationHead}
 */
export function decodeHead(value) {
  const json = decodeObject(value, "head");
  const recentTime = optional(json, "recentTime", decodeText);
  return {
    conversation: ConversationID.parse(decodeText(json, "conversation")),
    name: optional(json, "name", decodeText),
    avatar: optional(json, "avatar", decodeText),
    state: decodeLogHead(json),
    unread: counterOrZero(json, "unread"),
    mentions: counterOrZero(json, "mentions"),
    readSeq: counterOrZero(json, "readSeq"),
    peerReadSeq: counterOrZero(json, "peerReadSeq"),
    peerDeliveredSeq: Math.max(counterOrZero(json, "peerReadSeq"), counterOrZero(json, "peerDeliveredSeq")),
    hasDeliveryReceipts: flagOrFalse(json, "deliveryReceipts"),
    lastMessage: optional(json, "lastMessage", (json, name) => decodeMessage(json[name])),
    isMuted: flagOrFalse(json, "muted"),
    notifications: decodeNotifications(json),
    isPinned: flagOrFalse(json, "pinned"),
    isMarkedUnread: flagOrFalse(json, "markedUnread"),
    removedSeq: counterOrZero(json, "removedSeq"),
    newDeviceFloor: counterOrZero(json, "roamSeq"),
    recentTime: recentTime === null ? null : timetoken(recentTime, "recentTime"),
    isMember: optional(json, "member", decodeFlag) ?? true,
    isFrozen: flagOrFalse(json, "frozen"),
    mute: decodeMute(json),
    lastCommit: counterOrZero(json, "moved"),
    userRev: counterOrZero(json, "userRev"),
    hidden: optional(json, "hidden", decodeRanges)?.ranges ?? [],
  };
}

/**
 * @param {JSONObject} json An object with the members of a summary, and possibly others.
 * @returns {ReadSummary}
 */
export const decodeSummary = (json) => ({
  epoch: epoch(decodeText(json, "epoch")),
  readSeq: decodeCounter(json, "readSeq"),
  unread: decodeCounter(json, "unread"),
  mentions: decodeCounter(json, "mentions"),
  isMarkedUnread: flagOrFalse(json, "markedUnread"),
  isMuted: flagOrFalse(json, "muted"),
  notifications: decodeNotifications(json),
  isPinned: flagOrFalse(json, "pinned"),
  removedSeq: counterOrZero(json, "removedSeq"),
  seq: decodeCounter(json, "seq"),
  countedIndex: decodeCounter(json, "n"),
  rev: decodeCounter(json, "rev"),
  userRev: decodeCounter(json, "userRev"),
});
