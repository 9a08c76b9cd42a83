/// A change that somebody makes to their own state in one conversation; nobody else sees it.
package enum StateChange: Hashable, Sendable {
    /// Everything up to a place was read.
    ///
    /// - Parameter userRev: the newest own change the device knew of: a mark that was set after it stays. Without it any
    ///   mark goes.
    case read(seq: Seq, epoch: Epoch, userRev: Int64?)
    /// Marked as unread by hand, until the next read.
    case markUnread
    /// Muted or not, pinned or not; what is absent stays.
    case settings(isMuted: Bool?, isPinned: Bool?)
    /// Which messages are pushed; nil for what holds where nothing was set.
    case notifications(NotificationLevel?)
    /// Taken out of the list of recents until a message comes above a place, or above the newest one.
    ///
    /// - Parameter stopsRoaming: whether what is there is not given to new devices by itself either.
    case removeRecent(at: LogPlace?, stopsRoaming: Bool)
    /// Put back into the list.
    case addRecent
    /// What is there up to a place, or up to the newest one, is not given to new devices by itself.
    case stopRoaming(at: LogPlace?)
}

/// A place in one log.
package struct LogPlace: Hashable, Sendable {
    package var seq: Seq
    package var epoch: Epoch

    package init(seq: Seq, epoch: Epoch) {
        self.seq = seq
        self.epoch = epoch
    }
}

/// How far one of several conversations was read.
package struct ReadMark: Hashable, Sendable {
    package var conversation: ConversationID
    package var place: LogPlace
    /// The newest own change the device knew of.
    package var userRev: Int64?

    package init(conversation: ConversationID, place: LogPlace, userRev: Int64? = nil) {
        self.conversation = conversation
        self.place = place
        self.userRev = userRev
    }
}

/// What came of one of several reads.
package struct ReadAnswer: Sendable {
    package var conversation: ConversationID
    package var result: Result<ReadSummary, ChatError>

    package init(conversation: ConversationID, result: Result<ReadSummary, ChatError>) {
        self.conversation = conversation
        self.result = result
    }
}
