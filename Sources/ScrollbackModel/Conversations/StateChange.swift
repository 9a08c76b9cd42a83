/// A change of a user's own state in one conversation, which only that user sees.
package enum StateChange: Hashable, Sendable {
    /// The user read everything up to a sequence number.
    ///
    /// - Parameter userRev: The newest user revision that the device knew. A later unread marker stays set. Without
    ///   this value, any marker is cleared.
    case read(seq: Seq, epoch: Epoch, userRev: Int64?)
    /// The user marked the conversation as unread, until the next read.
    case markUnread
    /// The user muted, unmuted, pinned or unpinned the conversation; `nil` values don't change.
    case settings(isMuted: Bool?, isPinned: Bool?)
    /// The messages that are pushed; `nil` for the default.
    case notifications(NotificationLevel?)
    /// The user removed the conversation from the recents list until a message arrives above a position.
    ///
    /// `nil` means the newest position.
    ///
    /// - Parameter excludesFromNewDevices: Whether new devices also don't load the messages up to it automatically.
    case removeRecent(at: EpochPosition?, excludesFromNewDevices: Bool)
    /// The user returned the conversation to the list.
    case addRecent
    /// New devices don't load messages up to a position automatically; `nil` means the newest position.
    case excludeFromNewDevices(at: EpochPosition?)
}

/// A position in one log.
package struct EpochPosition: Hashable, Sendable {
    package var seq: Seq
    package var epoch: Epoch

    package init(seq: Seq, epoch: Epoch) {
        self.seq = seq
        self.epoch = epoch
    }
}

/// A read marker in one of several conversations.
package struct ReadMark: Hashable, Sendable {
    package var conversation: ConversationID
    package var position: EpochPosition
    /// The newest user revision that the device knew.
    package var userRev: Int64?

    package init(conversation: ConversationID, position: EpochPosition, userRev: Int64? = nil) {
        self.conversation = conversation
        self.position = position
        self.userRev = userRev
    }
}

/// The result for one of several reads.
package struct ReadResult: Sendable {
    package var conversation: ConversationID
    package var result: Result<ReadSummary, ChatError>

    package init(conversation: ConversationID, result: Result<ReadSummary, ChatError>) {
        self.conversation = conversation
        self.result = result
    }
}
