// @ts-check

/** @typedef {import("./conversation-id.js").ConversationID} ConversationID */
/** @typedef {import("./conversation-kind.js").NotificationLevel} NotificationLevel */
/** @typedef {import("./log.js").LogHead} LogHead */
/** @typedef {import("./message.js").Message} Message */
/** @typedef {import("./seq-range-set.js").Seq} Seq */
/** @typedef {import("./seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("./timetoken.js").Epoch} Epoch */
/** @typedef {import("./timetoken.js").Timetoken} Timetoken */

/**
 * The duration of a mute, during which a member may not write in a conversation: its end, or until a moderator revokes
 * it.
 *
 * @typedef {Date | "forever"} Mute
 */

/**
 * A conversation in a member's list: the state of its log and the member's own state.
 *
 * @typedef {object} ConversationHead
 * @property {ConversationID} conversation
 * @property {string | null} name The display name, at most 128 bytes of UTF-8.
 * @property {string | null} avatar The URL of the picture, at most 2,048 bytes of UTF-8.
 * @property {LogHead} state
 * @property {number} unread The number of unread messages, without the member's own.
 * @property {number} mentions The number of unread messages from other users that mention the member.
 * @property {Seq} readSeq The sequence number up to which nothing is unread for the member; 0 for none.
 * @property {Seq} peerReadSeq The newest sequence number that the peer of a direct conversation has read; 0 for none.
 * @property {Seq} peerDeliveredSeq The sequence number through which the peer's devices have stored a direct
 *   conversation, at least `peerReadSeq`; 0 for none.
 * @property {boolean} hasDeliveryReceipts Whether the member's devices report which messages they have stored.
 * @property {Message | null} lastMessage The newest message that the member may see.
 * @property {boolean} isMuted Whether pushes are muted for the member.
 * @property {NotificationLevel | null} notifications The messages that the user wants pushed; `null` if the user set no
 *   level for this conversation.
 * @property {boolean} isPinned Whether the member pinned the conversation in their list.
 * @property {boolean} isMarkedUnread Whether the member marked the conversation as unread.
 * @property {Seq} removedSeq The newest sequence number when the member removed the conversation from their list; 0 if
 *   they did not.
 * @property {Seq} newDeviceFloor The sequence number up to which new devices load nothing automatically.
 * @property {Timetoken | null} recentTime The time of the last activity; `null` if the conversation is not in the list.
 * @property {boolean} isMember Whether the user is still a member.
 * @property {boolean} isFrozen Whether only moderators, owners and administrators may write at the moment.
 * @property {Mute | null} mute The member's mute in this conversation.
 * @property {number} lastCommit The last commit that changed the conversation when this head was computed.
 * @property {number} userRev The member's user revision when this head was computed.
 * @property {readonly SeqRange[]} hidden The messages that the reader deleted for themselves since the cursor of the
 *   request.
 */

/**
 * A user's own state in one conversation, with the revisions it was computed at.
 *
 * @typedef {object} ReadSummary
 * @property {Epoch} epoch The log that the sequence numbers belong to.
 * @property {Seq} readSeq The sequence number up to which nothing is unread; 0 for none.
 * @property {number} unread
 * @property {number} mentions
 * @property {boolean} isMarkedUnread
 * @property {boolean} isMuted
 * @property {NotificationLevel | null} notifications
 * @property {boolean} isPinned
 * @property {Seq} removedSeq
 * @property {Seq} seq The newest sequence number that the user could see when this was computed.
 * @property {number} countedIndex The counted index at `seq`.
 * @property {number} rev The conversation's newest revision when this was computed.
 * @property {number} userRev The user revision when this was computed.
 */

/**
 * Returns the summary of the user's own state in a conversation's head.
 *
 * @param {ConversationHead} head
 * @returns {ReadSummary}
 */
export function readSummaryOf(head) {
  const { readSeq, unread, mentions, isMarkedUnread, isMuted, notifications, isPinned, removedSeq, userRev } = head;
  const { epoch, head: seq, countedIndex, rev } = head.state;
  return {
    epoch,
    readSeq,
    unread,
    mentions,
    isMarkedUnread,
    isMuted,
    notifications,
    isPinned,
    removedSeq,
    seq,
    countedIndex,
    rev,
    userRev,
  };
}

/**
 * A position in one log.
 *
 * @typedef {object} EpochPosition
 * @property {Seq} seq
 * @property {Epoch} epoch
 */

/**
 * A change of a user's own state in one conversation, which only that user sees.
 *
 * - `read`: the user read everything up to a sequence number. `userRev` is the newest user revision that the device
 *   knew, so that a later unread marker stays set.
 * - `markUnread`: the user marked the conversation as unread, until the next read.
 * - `settings`: the user muted, unmuted, pinned or unpinned the conversation; `null` values don't change.
 * - `notifications`: the messages that are pushed; `null` for the default.
 * - `removeRecent`: the user removed the conversation from the list until a message arrives above a position, the
 *   newest one for `null`. `excludesFromNewDevices`: new devices also don't load the messages up to it automatically.
 * - `addRecent`: the user returned the conversation to the list.
 * - `excludeFromNewDevices`: new devices don't load messages up to a position automatically.
 *
 * @typedef {{ type: "read", seq: Seq, epoch: Epoch, userRev: number | null }
 *   | { type: "markUnread" }
 *   | { type: "settings", isMuted: boolean | null, isPinned: boolean | null }
 *   | { type: "notifications", level: NotificationLevel | null }
 *   | { type: "removeRecent", at: EpochPosition | null, excludesFromNewDevices: boolean }
 *   | { type: "addRecent" }
 *   | { type: "excludeFromNewDevices", at: EpochPosition | null }} StateChange
 */

/**
 * The kinds of user settings in a conversation, which apply immediately and are sent to the server later.
 *
 * @typedef {"muted" | "notifications" | "pinned" | "mark" | "list" | "roaming"} SettingKind
 */

/**
 * Returns the kind of setting that a change sets; `null` for a read.
 *
 * @param {StateChange} change
 * @returns {SettingKind | null}
 */
export function settingKind(change) {
  switch (change.type) {
    case "settings":
      return change.isMuted !== null ? "muted" : "pinned";
    case "notifications":
      return "notifications";
    case "markUnread":
      return "mark";
    case "removeRecent":
    case "addRecent":
      return "list";
    case "excludeFromNewDevices":
      return "roaming";
    case "read":
      return null;
  }
}

/**
 * Whether an unconfirmed setting stays when the conversation gets a new epoch.
 *
 * @param {SettingKind} kind
 */
export const survivesNewEpoch = (kind) => kind === "muted" || kind === "notifications" || kind === "pinned";
