// @ts-check

/**
 * The kinds of conversations.
 *
 * - `direct`: a conversation of two users, or of one user with themselves
 * - `group`: a conversation with a list of members
 * - `community`: a channel of a community
 * - `room`: a conversation whose members are its current subscribers
 * - `system`: a conversation with one receiver, to which the server sends
 *
 * @typedef {"direct" | "group" | "community" | "room" | "system"} ConversationKind
 */

/**
 * The properties in which the kinds of conversations differ.
 *
 * @typedef {object} ConversationTraits
 * @property {"named" | "listed" | "community" | "subscribers"} membership The source of a user's membership: the
 *   conversation's ID, the conversation's member list, the community's member list, or the current subscribers.
 * @property {boolean} replaysMissed Whether a reconnecting device receives the missed messages before live messages.
 * @property {boolean} hasRecents Whether the conversation appears in the recents list, with unread counts and push.
 * @property {boolean} isImplicit Whether the first message creates the conversation.
 * @property {boolean} streamsToMembers Whether every message is streamed to all devices of all members; otherwise only
 *   to subscribers.
 * @property {boolean} streamsUnderLoadByPriority Whether the server stores some messages without streaming them under
 *   load.
 * @property {NotificationLevel} defaultNotificationLevel The default notification level.
 * @property {boolean} hasTwoPartNames Whether an ID can have two parts, with a slash between them.
 */

/**
 * The messages for which a user wants pushes: all, those that mention the user, or none.
 *
 * @typedef {"all" | "mentions" | "none"} NotificationLevel
 */

/**
 * The properties of each kind: the only source for rules that depend on the kind.
 *
 * @type {Readonly<Record<ConversationKind, Readonly<ConversationTraits>>>}
 */
export const conversationTraits = Object.freeze({
  direct: {
    membership: "named",
    replaysMissed: true,
    hasRecents: true,
    isImplicit: true,
    streamsToMembers: true,
    streamsUnderLoadByPriority: false,
    defaultNotificationLevel: "all",
    hasTwoPartNames: true,
  },
  group: {
    membership: "listed",
    replaysMissed: true,
    hasRecents: true,
    isImplicit: false,
    streamsToMembers: true,
    streamsUnderLoadByPriority: false,
    defaultNotificationLevel: "all",
    hasTwoPartNames: false,
  },
  community: {
    membership: "community",
    replaysMissed: false,
    hasRecents: true,
    isImplicit: false,
    streamsToMembers: false,
    streamsUnderLoadByPriority: false,
    defaultNotificationLevel: "mentions",
    hasTwoPartNames: true,
  },
  room: {
    membership: "subscribers",
    replaysMissed: false,
    hasRecents: false,
    isImplicit: false,
    streamsToMembers: false,
    streamsUnderLoadByPriority: true,
    defaultNotificationLevel: "none",
    hasTwoPartNames: false,
  },
  system: {
    membership: "named",
    replaysMissed: true,
    hasRecents: true,
    isImplicit: true,
    streamsToMembers: true,
    streamsUnderLoadByPriority: false,
    defaultNotificationLevel: "all",
    hasTwoPartNames: true,
  },
});

/** The names of all notification levels. */
export const notificationLevels = Object.freeze(/** @type {NotificationLevel[]} */ (["all", "mentions", "none"]));

/** The names of all kinds. */
export const conversationKinds = Object.freeze(/** @type {ConversationKind[]} */ (Object.keys(conversationTraits)));
