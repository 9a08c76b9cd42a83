// @ts-check
import { ScrollbackError } from "./errors.js";
import { restrictedTraits, typeTraits } from "./message-type.js";
import { dateOf } from "./timetoken.js";

/** @typedef {import("./conversation-id.js").ConversationID} ConversationID */
/** @typedef {import("./message-content.js").JSONObject} JSONObject */
/** @typedef {import("./message-content.js").MessageContent} MessageContent */
/** @typedef {import("./message-id.js").MessageID} MessageID */
/** @typedef {import("./message-type.js").MessageTraits} MessageTraits */
/** @typedef {import("./message-type.js").MessageType} MessageType */
/** @typedef {import("./seq-range-set.js").Seq} Seq */
/** @typedef {import("./text.js").UserID} UserID */
/** @typedef {import("./timetoken.js").Epoch} Epoch */
/** @typedef {import("./timetoken.js").Timetoken} Timetoken */

/**
 * The users that a message mentions, with any type of content.
 *
 * @typedef {object} Mentions
 * @property {boolean} everyone Whether the message mentions everyone in the conversation.
 * @property {readonly UserID[]} users The users mentioned by name, at most 100.
 * @property {string | undefined} [pushText] The push text for the mentioned users, in place of the message's text.
 */

/** The maximum number of users that one message can mention by name. */
export const maximumMentions = 100;

/**
 * The attributes that can accompany any content.
 *
 * @typedef {object} MessageAttributes
 * @property {Mentions | undefined} [mentions] The users that the message mentions.
 * @property {JSONObject | undefined} [metadata] An application-defined JSON object of at most 32 KiB.
 * @property {unknown} [extra] Application-defined JSON of at most 32 KiB.
 * @property {string | undefined} [customType] An application-defined name to filter by, 1...128 bytes of UTF-8.
 * @property {JSONObject | undefined} [push] The push options as a JSON object of at most 32 KiB.
 * @property {MessageID | undefined} [replyTo] The message that this one replies to, whether or not it exists.
 * @property {Partial<MessageTraits> | undefined} [traits] The traits that the sender turned off for this message.
 * @property {"low" | "normal" | "high" | undefined} [priority] Whether a room streams the message when it has more
 *   messages than it can stream; `normal` if left out.
 */

/**
 * A summary of a message's actions of one type and value, such as a reaction.
 *
 * @typedef {object} ActionSummary
 * @property {string} type The type, such as `reaction`.
 * @property {string} value The value, such as an emoji.
 * @property {number} count The number of users who attached the action.
 * @property {readonly UserID[]} senders The first users who attached it, at most 20.
 */

/**
 * A summary of a message's replies.
 *
 * @typedef {object} ReplySummary
 * @property {number} count The current number of replies.
 * @property {Timetoken} lastReplyAt The time of the newest reply.
 */

/**
 * An annotation on a message with a type and a value, such as a reaction.
 *
 * @typedef {object} MessageAction
 * @property {MessageID} message
 * @property {Timetoken} timetoken The time of the action, which identifies it in its conversation.
 * @property {UserID} sender
 * @property {string} type The type, such as `reaction`; 1...64 bytes of UTF-8.
 * @property {string} value The value, such as an emoji; 1...128 bytes of UTF-8.
 */

/**
 * The stored members of a message.
 *
 * @typedef {object} MessageFields
 * @property {ConversationID} conversation The ID under which the reader knows the conversation.
 * @property {Seq} seq The sequence number in the log, dense from 1.
 * @property {number} countedIndex The number of messages up to this one that count as unread.
 * @property {MessageID} id
 * @property {Timetoken} timetoken The time, which is unique in the conversation; messages are ordered by `seq`.
 * @property {Epoch} epoch The log that `seq` belongs to.
 * @property {UserID} sender
 * @property {MessageType} type The type of the content, which a recalled or deleted message keeps.
 * @property {MessageContent | null} content The content; `null` if the message was recalled or deleted.
 * @property {number} [rev] The revision of the last change; 0 if the message was never changed.
 * @property {MessageAttributes} [attributes]
 * @property {Date | null} [editedAt] The date of the last edit; `null` if the content was never edited.
 * @property {MessageID | null} [thread] The first message of the thread in which this message is a reply.
 * @property {ReplySummary | null} [replies] The summary of the message's replies, if it has any.
 * @property {readonly ActionSummary[]} [actions] The summaries of the message's actions, including reactions.
 */

/** A stored message in a conversation's log. */
export class Message {
  /** @param {MessageFields} fields */
  constructor(fields) {
    this.conversation = fields.conversation;
    this.seq = fields.seq;
    this.countedIndex = fields.countedIndex;
    this.id = fields.id;
    this.timetoken = fields.timetoken;
    this.epoch = fields.epoch;
    this.sender = fields.sender;
    this.type = fields.type;
    this.content = fields.content;
    this.rev = fields.rev ?? 0;
    this.attributes = fields.attributes ?? {};
    this.editedAt = fields.editedAt ?? null;
    this.thread = fields.thread ?? null;
    this.replies = fields.replies ?? null;
    this.actions = fields.actions ?? [];
  }

  /** The date when the server stored the message, in milliseconds; for an imported message, its original date. */
  get sentAt() {
    return dateOf(this.timetoken);
  }

  /** Whether the message was recalled by its sender or deleted; a tombstone keeps its sequence number. */
  get isDeleted() {
    return this.content === null;
  }

  /** Whether the message counts as unread for everyone except its sender. */
  get countsUnread() {
    return restrictedTraits(typeTraits(this.type), this.attributes.traits).countsUnread;
  }

  /** Whether the recents list skips the message if another one is near. */
  get skipsRecents() {
    return !restrictedTraits(typeTraits(this.type), this.attributes.traits).updatesRecents;
  }

  /** The text, if the content has one. */
  get text() {
    return this.content?.text ?? null;
  }

  /**
   * Whether a user is mentioned by name or as part of everyone.
   *
   * @param {UserID} user
   */
  mentions(user) {
    const { mentions } = this.attributes;
    return mentions !== undefined && (mentions.everyone || mentions.users.includes(user));
  }
}

/**
 * A message that is not stored and reaches only users who are connected at the moment.
 *
 * @typedef {object} TransientMessage
 * @property {ConversationID} conversation
 * @property {MessageID} id The ID, which the sender's device creates; a retry has the same ID.
 * @property {Timetoken} timetoken The time when the server delivered the message.
 * @property {UserID} sender
 * @property {MessageContent} content
 * @property {MessageAttributes} attributes
 */

/**
 * A message to send, identified by its ID through every retry.
 *
 * @typedef {object} Submission
 * @property {MessageID} id The ID, created once for each message.
 * @property {MessageContent} content
 * @property {MessageAttributes} attributes
 */

/**
 * The result of sending a message.
 *
 * @typedef {object} SendResult
 * @property {"committed" | "duplicate" | "delivered"} outcome The server stored the message, had already stored it, or
 *   delivered it without storing it. In no case must the message be sent again.
 * @property {MessageID} id
 * @property {Timetoken} timetoken The time that the server assigned; for a duplicate, the time of the first attempt.
 * @property {{ seq: Seq, countedIndex: number, epoch: Epoch } | null} position The position of the stored message.
 * @property {MessageID | null} thread The first message of the thread in which the message is a reply.
 * @property {JSONObject | null} content The stored content, if a moderation filter of the server changed it.
 */

/**
 * Validates mentions.
 *
 * @param {Mentions} mentions
 * @returns {Mentions}
 * @throws {ScrollbackError} `invalid-parameter` if the mentions are empty or the list is missing or too long.
 */
export function checkMentions(mentions) {
  if (!Array.isArray(mentions.users)) {
    throw ScrollbackError.invalidParameter(
      "mentions",
      "must have the members everyone, a Boolean, and users, an array",
    );
  }
  if (!mentions.everyone && mentions.users.length === 0) {
    throw ScrollbackError.invalidParameter("mentions", "must name at least one user, or everyone");
  }
  if (mentions.users.length > maximumMentions) {
    const reason = `must name at most ${maximumMentions} users`;
    throw ScrollbackError.invalidParameter("mentions", reason, maximumMentions);
  }
  return mentions;
}
