package import ScrollbackModel

/// An entry of a conversation's change log: the sequence numbers that a change affected.
///
/// The messages' rows contain their new state.
package struct ChangeRow: Hashable, Sendable {
    package enum Kind: Int64, Sendable {
        /// A message changed.
        case message = 0
        /// A range was deleted.
        case removal = 1
    }

    package var rev: Int64
    package var kind: Kind
    package var places: SeqRange
    package var at: Timetoken
    /// The idempotency ID of the request; a retry gets the same answer and changes nothing.
    package var operation: MessageID?
    /// A digest of the request and its caller.
    package var digest: Int64
    /// The request's answer: the number of deleted messages, or the time of an action.
    package var answer: Int64

    package init(
        rev: Int64, kind: Kind, places: SeqRange, at: Timetoken, operation: MessageID? = nil, digest: Int64 = 0,
        answer: Int64 = 0
    ) {
        self.rev = rev
        self.kind = kind
        self.places = places
        self.at = at
        self.operation = operation
        self.digest = digest
        self.answer = answer
    }
}

/// A deleted range: deleted for everyone, or hidden by one user.
///
/// Ranges of one owner neither overlap nor touch.
package struct DeletedRangeRow: Hashable, Sendable {
    package var places: SeqRange
    /// The owner's change counter when they last hid messages in this range; 0 if the range is deleted for everyone.
    package var userRev: Int64
    /// Whether the messages are still stored.
    package var holdsMessages: Bool

    package init(_ places: SeqRange, userRev: Int64 = 0, holdsMessages: Bool = false) {
        self.places = places
        self.userRev = userRev
        self.holdsMessages = holdsMessages
    }
}
