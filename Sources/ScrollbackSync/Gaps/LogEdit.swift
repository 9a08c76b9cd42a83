package import ScrollbackModel

/// What an event does to a device's rows, and what must follow.
///
/// A store carries it out in one transaction with the new ``LogState``: first it erases, then it upserts.
package struct LogEdit: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case applied
        /// Nothing was changed.
        case stale(Reason)
    }

    package enum Reason: String, Hashable, Sendable {
        /// It speaks of another log.
        case epoch
        /// It was read when the reader could see something else.
        case view
        /// It was asked from a position that is not ours any more.
        case position
        /// It was read before a change that was never applied to the places it fills.
        case snapshot
    }

    /// A row that is there takes only a higher `rev`; one that is not is inserted.
    package private(set) var upserts: [Message] = []
    /// Places whose rows go.
    package private(set) var erased: [SeqRange] = []
    /// Whether every row of the conversation goes; outbox, drafts and local extensions stay.
    package private(set) var erasesEverything = false
    /// Whether `sync` has something for this conversation.
    ///
    /// For kinds without replay it is the caller's choice.
    package var needsSync = false
    package private(set) var outcome = Outcome.applied

    package init() {}

    static func stale(_ reason: Reason, needsSync: Bool) -> LogEdit {
        var edit = LogEdit()
        edit.outcome = .stale(reason)
        edit.needsSync = needsSync
        return edit
    }

    package var isStale: Bool { outcome != .applied }

    mutating func upsert(_ message: Message) {
        upserts.append(message)
    }

    mutating func erase(_ range: SeqRange) {
        upserts.removeAll { range.contains($0.seq) }
        erased.append(range)
    }

    mutating func eraseEverything() {
        upserts = []
        erased = []
        erasesEverything = true
    }
}
