// @ts-check
import { readSummaryOf } from "../model/conversation-head.js";
import { conversationTraits } from "../model/conversation-kind.js";
import { recentsDepth } from "../model/message-type.js";
import { earliestTimetoken, laterTimetoken } from "../model/timetoken.js";
import { DeliveryState } from "./delivery-state.js";

/** @typedef {import("../model/conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("../model/conversation-head.js").Mute} Mute */
/** @typedef {import("../model/conversation-head.js").ReadSummary} ReadSummary */
/** @typedef {import("../model/conversation-head.js").SettingKind} SettingKind */
/** @typedef {import("../model/conversation-head.js").StateChange} StateChange */
/** @typedef {import("../model/conversation-kind.js").ConversationKind} ConversationKind */
/** @typedef {import("../model/conversation-kind.js").NotificationLevel} NotificationLevel */
/** @typedef {import("../model/seq-range-set.js").Seq} Seq */
/** @typedef {import("../model/seq-range-set.js").SeqRangeSet} SeqRangeSet */
/** @typedef {import("../model/timetoken.js").Timetoken} Timetoken */
/** @typedef {import("./log-state.js").LogState} LogState */

/**
 * A display name and a picture.
 *
 * @typedef {object} Profile
 * @property {string | null} name
 * @property {string | null} avatar
 */

/**
 * What the list uses of the conversation's log and read state.
 *
 * @typedef {object} Activity
 * @property {Seq} head
 * @property {number} unread
 * @property {number} mentions
 */

/**
 * A stored message, as far as the list uses it.
 *
 * @typedef {object} StoredMessage
 * @property {Seq} seq
 * @property {number} rev
 * @property {Timetoken} timetoken
 * @property {boolean} skipsRecents Whether the list skips the message if another one is near.
 */

/**
 * A conversation's entry in the list of recent conversations, as this device knows it.
 *
 * The value has the rules of the list: whether the conversation is listed, its position, its last message, and which
 * settings apply. The store loads an entry, calls these methods and saves the result in the same transaction as the
 * conversation's log. {@link RecentEntry.updateListing} comes last, once for each transaction.
 */
export class RecentEntry {
  /**
   * Creates the entry of a conversation of which nothing is known.
   *
   * @param {ConversationKind} kind
   */
  constructor(kind) {
    this.kind = kind;

    // The server's state of the conversation

    /** The server commit of the newest head that was applied. */
    this.lastCommit = 0;
    /**
     * The display name and picture to save; `null` if they did not change since the entry was loaded.
     *
     * @type {Profile | null}
     */
    this.newProfile = null;
    /**
     * The time of the last activity, as the server reports it; `null` if the server does not list the conversation.
     *
     * @type {Timetoken | null}
     */
    this.recentTime = null;
    this.isFrozen = false;
    /** @type {Mute | null} */
    this.mute = null;
    /** The sequence number up to which a new device downloads nothing automatically. */
    this.newDeviceFloor = 0;
    this.peerReadSeq = 0;
    this.delivery = new DeliveryState();
    this.isMember = true;
    /** The user revision of the known membership. */
    this.membershipRev = 0;

    // The user's settings

    /** The user revision of the known settings. */
    this.settingsRev = 0;
    this.isMuted = false;
    /** @type {NotificationLevel | null} */
    this.notifications = null;
    this.isPinned = false;
    this.isMarkedUnread = false;
    /** The head when the user removed the conversation from the list; 0 if they did not. */
    this.removedSeq = 0;
    /**
     * The time by which an explicitly added conversation is sorted; `null` if the user did not add it.
     *
     * @type {Timetoken | null}
     */
    this.addedTime = null;

    // The list

    this.isListed = false;
    /** @type {Timetoken} */
    this.sortTime = earliestTimetoken;
    /** The sequence number of the last message; 0 if none is stored. */
    this.lastSeq = 0;
    this.lastRev = 0;
    /**
     * The time of the last message; `null` if it is not stored.
     *
     * @type {Timetoken | null}
     */
    this.lastTime = null;
    /** Whether the user added the conversation without showing its last message, until the next message. */
    this.hidesLast = false;
    /**
     * The newest sequence number that this device had before it missed messages; `null` if it never missed any.
     *
     * @type {Seq | null}
     */
    this.missedAfter = null;
  }

  /**
   * Returns the entry with stored members.
   *
   * @param {Partial<RecentEntry> & { kind: ConversationKind }} stored
   */
  static from(stored) {
    const delivery = DeliveryState.from(stored.delivery ?? {});
    return Object.assign(new RecentEntry(stored.kind), stored, { delivery });
  }

  copy() {
    return RecentEntry.from(this);
  }

  /**
   * Updates whether the conversation is listed, and its position.
   *
   * It is listed if it has messages after its removal from the list, or if the user added it explicitly. A conversation
   * whose messages were deleted stays until the server reports its last activity.
   *
   * @param {Activity} activity
   */
  updateListing(activity) {
    this.isListed = conversationTraits[this.kind].hasRecents &&
      (this.addedTime !== null || (this.#isAboveRemoval(activity) && this.#hasReason(activity)));
    const time = this.lastTime ?? this.recentTime ?? this.sortTime;
    this.sortTime = laterTimetoken(time, this.addedTime ?? earliestTimetoken);
  }

  /** @param {Activity} activity */
  #isAboveRemoval(activity) {
    return (this.lastSeq > 0 ? this.lastSeq : activity.head) > this.removedSeq;
  }

  /** @param {Activity} activity */
  #hasReason({ unread, mentions }) {
    return this.lastSeq > 0 || this.isListed || this.recentTime !== null || unread > 0 || mentions > 0 ||
      this.isMarkedUnread;
  }

  /**
   * Applies the head of the conversation, unless it is older than what is known.
   *
   * An outdated head has an old name or membership, or ignores messages that the user hid since. A conversation for
   * which the server reports no time is not listed, unless it has messages on this device.
   *
   * @param {ConversationHead} head
   * @param {ReadonlySet<SettingKind>} pending The settings that the server has not confirmed.
   * @param {boolean} isRead Whether a read on this device is still unconfirmed.
   */
  applyHead(head, pending, isRead) {
    if (head.lastCommit >= this.lastCommit && head.userRev >= this.membershipRev) {
      this.lastCommit = head.lastCommit;
      this.newProfile = { name: head.name, avatar: head.avatar };
      this.recentTime = head.recentTime;
      this.isFrozen = head.isFrozen;
      this.mute = head.mute;
      this.newDeviceFloor = head.newDeviceFloor;
      this.delivery.isOn = head.hasDeliveryReceipts;
      if (head.recentTime === null) this.isListed = false;
    }
    this.advancePeerRead(head.peerReadSeq);
    this.delivery.advancePeer(head.peerDeliveredSeq);
    if (head.userRev >= this.membershipRev) {
      this.membershipRev = head.userRev;
      this.isMember = head.isMember;
    }
    this.applySettings(readSummaryOf(head), pending, isRead);
  }

  /**
   * Records the peer's read position, which only increases, whichever answer reports it. A message that the peer has
   * read was delivered.
   *
   * @param {Seq} seq
   */
  advancePeerRead(seq) {
    this.peerReadSeq = Math.max(this.peerReadSeq, seq);
    this.delivery.advancePeer(seq);
  }

  /**
   * Resets the entry after the conversation got a new epoch.
   *
   * Mute, pin and notification settings stay; everything else is meaningless in the new log.
   */
  reset() {
    this.isMarkedUnread = false;
    this.removedSeq = 0;
    this.settingsRev = 0;
    this.membershipRev = 0;
    this.lastCommit = 0;
    this.recentTime = null;
    this.newDeviceFloor = 0;
    this.peerReadSeq = 0;
    this.isListed = false;
    this.sortTime = earliestTimetoken;
    this.missedAfter = 0;
    this.lastSeq = 0;
    this.lastRev = 0;
    this.lastTime = null;
    this.delivery = new DeliveryState();
  }

  // The user's settings: the server's, and those that this device has not sent yet

  /**
   * Applies the server's settings, unless they are older than the known ones.
   *
   * An entry that is listed only because of its unread marker leaves the list when the marker ends.
   *
   * @param {ReadSummary} summary
   * @param {ReadonlySet<SettingKind>} pending The settings that the server has not confirmed; they stay.
   * @param {boolean} isRead Whether a read on this device is still unconfirmed. It ends the unread marker once the
   *   server receives it.
   */
  applySettings(summary, pending, isRead) {
    // In a group, the server counts messages up to the read marker as delivered. In a direct conversation it does not,
    // because the user's own messages advance the marker.
    if (this.kind !== "direct") this.delivery.reported(summary.readSeq);
    if (summary.userRev < this.settingsRev) return;
    this.settingsRev = summary.userRev;
    if (!pending.has("muted")) this.isMuted = summary.isMuted;
    if (!pending.has("pinned")) this.isPinned = summary.isPinned;
    if (!pending.has("notifications")) this.notifications = summary.notifications;
    if (!pending.has("mark")) {
      if (summary.isMarkedUnread && !isRead) this.isMarkedUnread = true;
      else this.endUnreadMarker();
    }
    if (!pending.has("list")) {
      if (summary.removedSeq > this.removedSeq) this.addedTime = null;
      this.removedSeq = summary.removedSeq;
    }
  }

  /**
   * Applies a setting of the user on this device.
   *
   * @param {StateChange} change
   * @returns {boolean} Whether the server must receive it.
   */
  applyChange(change) {
    switch (change.type) {
      case "settings":
        if (change.isMuted !== null) return this.#set("isMuted", change.isMuted);
        return change.isPinned !== null && this.#set("isPinned", change.isPinned);
      case "notifications":
        return this.#set("notifications", change.level);
      case "markUnread":
        return this.#set("isMarkedUnread", true);
      case "removeRecent":
        this.removedSeq = Math.max(this.removedSeq, change.at?.seq ?? 0);
        this.addedTime = null;
        return true;
      case "addRecent":
        return this.#set("removedSeq", 0);
      case "excludeFromNewDevices":
        return true;
      case "read":
        return false;
    }
  }

  /**
   * Sets a member, and returns whether it changed.
   *
   * @template {"isMuted" | "isPinned" | "notifications" | "isMarkedUnread" | "removedSeq"} Name
   * @param {Name} name
   * @param {RecentEntry[Name]} value
   */
  #set(name, value) {
    const changes = this[name] !== value;
    /** @type {RecentEntry} */ (this)[name] = value;
    return changes;
  }

  /**
   * Adds the conversation to the list.
   *
   * @param {Timetoken | null} time The time to sort it by; `null` for the time of its last message.
   * @param {boolean} showsLast Whether its last message is shown. If not, none is shown until the next message.
   * @returns {boolean} Whether the server must receive that it is in the list again.
   */
  add(time, showsLast) {
    const wasRemoved = this.applyChange({ type: "addRecent" });
    this.addedTime = time ?? earliestTimetoken;
    this.hidesLast = !showsLast;
    return wasRemoved;
  }

  /** Ends the unread marker. An entry that was listed only because of its marker leaves the list. */
  endUnreadMarker() {
    if (this.isMarkedUnread) this.isListed = false;
    this.isMarkedUnread = false;
  }

  // The conversation's log

  /**
   * Updates the last message after stored messages changed.
   *
   * The last message is the newest one that the list does not skip. If the newest messages are all skipped, it stays
   * the current one, or becomes the newest if the current one is gone.
   *
   * The server must be asked in two cases. Either the last message disappeared without a replacement, so that only the
   * server knows when the conversation was last active. Or an older message replaces it, with gaps between the two.
   *
   * @param {object} log
   * @param {SeqRangeSet} log.gaps The gaps of the log.
   * @param {boolean} log.hadRow Whether the transaction inserted a message, even if it deleted it again.
   * @param {Iterable<StoredMessage>} log.newest The stored messages, the newest first. It is enough to pass them up to
   *   the first one that the list does not skip, or down to {@link recentsDepth} below the newest.
   * @param {StoredMessage | null} log.current The stored message with the sequence number `lastSeq`.
   * @returns {boolean} Whether the server must be asked.
   */
  updateLastMessage({ gaps, hadRow, newest, current }) {
    const before = this.lastSeq;
    const last = lastMessage(newest, before > 0 ? current : null);
    this.lastSeq = last?.seq ?? 0;
    this.lastRev = last?.rev ?? 0;
    this.lastTime = last?.timetoken ?? null;
    if (this.lastSeq > before) this.hidesLast = false;
    if (this.lastSeq === 0) return hadRow || before > 0;
    return this.lastSeq < before && gaps.intersects([this.lastSeq + 1, before]);
  }

  /**
   * Records the newest known sequence number when the device learns that it missed messages.
   *
   * @param {LogState | null} before The log before the input; `null` if it was unknown.
   * @param {LogState} log The log after the input.
   * @param {boolean} [isLive] Whether the input is a live update, which can't precede messages that were missed
   *   earlier.
   */
  recordMissed(before, log, isLive = false) {
    if (before === null) {
      // A new device has missed nothing.
      if (log.replayed < log.head) this.missedAfter = log.replayed;
      return;
    }
    const known = before.head;
    const { missedAfter } = this;
    if (before.epoch !== log.epoch || known >= log.head) return;
    if (isLive && (missedAfter !== null || !log.gaps.contains(known + 1))) return;
    // Keep the earlier value while messages that were missed since then are still missing.
    if (missedAfter !== null && missedAfter < known && before.gaps.intersects([missedAfter + 1, known])) return;
    this.missedAfter = known;
  }
}

/**
 * @param {Iterable<StoredMessage>} messages
 * @param {StoredMessage | null} current
 * @returns {StoredMessage | null}
 */
function lastMessage(messages, current) {
  /** @type {StoredMessage | null} */
  let newest = null;
  for (const message of messages) {
    newest ??= message;
    if (message !== newest && message.seq <= newest.seq - recentsDepth) break;
    if (!message.skipsRecents) return message;
  }
  return newest !== null && current !== null && !current.skipsRecents ? current : newest;
}
