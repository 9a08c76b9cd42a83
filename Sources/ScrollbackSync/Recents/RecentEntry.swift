package import ScrollbackModel

/// A conversation's entry in the list of recent conversations, as this device knows it.
///
/// The value has the rules of the list: whether the conversation is listed, its position, its last message, and which
/// settings apply. The store loads an entry, calls these methods and saves the result in the same transaction as the
/// conversation's log. ``updateListing(_:)`` comes last, once for each transaction.
package struct RecentEntry: Hashable, Sendable {
    package let kind: ConversationKind

    // MARK: The server's state of the conversation

    /// The server commit of the newest head that was applied.
    package var lastCommit: Int64 = 0
    /// The display name and picture to save; `nil` if they did not change since the entry was loaded.
    ///
    /// The texts are not part of the entry because the store encrypts them.
    package private(set) var newProfile: Profile?
    /// The time of the last activity, as the server reports it; `nil` if the server does not list the conversation.
    package var recentTime: Timetoken?
    package var isFrozen = false
    package var mute: Mute?
    /// The sequence number up to which a new device downloads nothing automatically.
    package var newDeviceFloor: Seq = 0
    package var peerReadSeq: Seq = 0
    package var delivery = DeliveryState()
    package var isMember = true
    /// The user revision of the known membership.
    package var membershipRev: Int64 = 0

    // MARK: The user's settings

    /// The user revision of the known settings.
    package var settingsRev: Int64 = 0
    package var isMuted = false
    package var notifications: NotificationLevel?
    package var isPinned = false
    package var isMarkedUnread = false
    /// The head when the user removed the conversation from the list; 0 if they did not.
    package var removedSeq: Seq = 0
    /// The time by which an explicitly added conversation is sorted; `nil` if the user did not add it.
    package var addedTime: Timetoken?

    // MARK: The list

    package var isListed = false
    package var sortTime = Timetoken(rawValue: 0)
    /// The sequence number of the last message; 0 if none is stored.
    package var lastSeq: Seq = 0
    package var lastRev: Int64 = 0
    /// The time of the last message; `nil` if it is not stored.
    package var lastTime: Timetoken?
    /// Whether the user added the conversation without showing its last message, until the next message.
    package var hidesLast = false
    /// The newest sequence number that this device had before it missed messages; `nil` if it never missed any.
    package var missedAfter: Seq?

    /// Creates the entry of a conversation of which nothing is known.
    package init(kind: ConversationKind) {
        self.kind = kind
    }

    /// A display name and a picture.
    package struct Profile: Hashable, Sendable {
        package let name: String?
        package let avatar: String?

        package init(name: String?, avatar: String?) {
            self.name = name
            self.avatar = avatar
        }
    }

    /// What the list uses of the conversation's log and read state.
    package struct Activity: Hashable, Sendable {
        package var head: Seq
        package var unread: Int64
        package var mentions: Int64

        package init(head: Seq = 0, unread: Int64 = 0, mentions: Int64 = 0) {
            self.head = head
            self.unread = unread
            self.mentions = mentions
        }
    }

    /// Updates whether the conversation is listed, and its position.
    ///
    /// It is listed if it has messages after its removal from the list, or if the user added it explicitly. A
    /// conversation whose messages were deleted stays until the server reports its last activity.
    package mutating func updateListing(_ activity: Activity) {
        isListed = kind.traits.hasRecents && (addedTime != nil || isAboveRemoval(activity) && hasReason(activity))
        sortTime = max(lastTime ?? recentTime ?? sortTime, addedTime ?? Timetoken(rawValue: 0))
    }

    private func isAboveRemoval(_ activity: Activity) -> Bool {
        (lastSeq > 0 ? lastSeq : activity.head) > removedSeq
    }

    private func hasReason(_ activity: Activity) -> Bool {
        lastSeq > 0 || isListed || recentTime != nil || activity.unread > 0 || activity.mentions > 0 || isMarkedUnread
    }

    /// Applies the head of the conversation, unless it is older than what is known.
    ///
    /// An outdated head has an old name or membership, or ignores messages that the user hid since. A conversation for
    /// which the server reports no time is not listed, unless it has messages on this device.
    ///
    /// - Parameters:
    ///   - pending: The settings that the server has not confirmed.
    ///   - isRead: Whether a read on this device is still unconfirmed.
    package mutating func apply(_ head: ConversationHead, pending: Set<SettingKind>, isRead: Bool) {
        if head.lastCommit >= lastCommit, head.userRev >= membershipRev {
            lastCommit = head.lastCommit
            newProfile = Profile(name: head.name, avatar: head.avatar)
            recentTime = head.recentTime
            isFrozen = head.isFrozen
            mute = head.mute
            newDeviceFloor = head.newDeviceFloor
            delivery.isOn = head.hasDeliveryReceipts
            if head.recentTime == nil { isListed = false }
        }
        advancePeerRead(to: head.peerReadSeq)
        delivery.advancePeer(to: head.peerDeliveredSeq)
        if head.userRev >= membershipRev {
            membershipRev = head.userRev
            isMember = head.isMember
        }
        apply(settings: ReadSummary(head), pending: pending, isRead: isRead)
    }

    /// Records a display name and a picture that the server accepted from this device.
    package mutating func rename(to profile: Profile) {
        newProfile = profile
    }

    /// Records the peer's read position, which only increases, whichever answer reports it.
    ///
    /// A message that the peer has read was delivered.
    package mutating func advancePeerRead(to seq: Seq) {
        peerReadSeq = max(peerReadSeq, seq)
        delivery.advancePeer(to: seq)
    }

    /// Resets the entry after the conversation got a new epoch.
    ///
    /// Mute, pin and notification settings stay; everything else is meaningless in the new log.
    package mutating func reset() {
        (isMarkedUnread, removedSeq, settingsRev, membershipRev) = (false, 0, 0, 0)
        (lastCommit, recentTime, newDeviceFloor, peerReadSeq) = (0, nil, 0, 0)
        (isListed, sortTime, missedAfter) = (false, Timetoken(rawValue: 0), 0)
        (lastSeq, lastRev, lastTime) = (0, 0, nil)
        delivery = DeliveryState()
    }
}
