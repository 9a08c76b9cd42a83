package import ScrollbackModel

/// The changes of a device's rows that result from an event.
///
/// A store applies them in one transaction with the new ``LogState``: first the deletions, then the upserts.
package struct LogEdit: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case applied
        /// The event was ignored and changed nothing.
        case stale(Reason)
    }

    package enum Reason: String, Hashable, Sendable {
        /// The event belongs to another log.
        case epoch
        /// The event was read in an older view.
        case view
        /// The event was requested from a position that is no longer current.
        case position
        /// The event was read before a change that was never applied to the sequence numbers it fills.
        case snapshot
    }

    /// The rows to insert; an existing row is replaced only by a row with a higher `rev`.
    package private(set) var upserts: [Message] = []
    /// The ranges whose rows are deleted.
    package private(set) var erased: [SeqRange] = []
    /// Whether all rows of the conversation are deleted; the outbox, drafts and local extensions stay.
    package private(set) var erasesEverything = false
    /// Whether `sync` has updates for this conversation.
    ///
    /// For kinds without replay, the caller decides whether to call it.
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
