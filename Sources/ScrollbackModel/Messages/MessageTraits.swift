/// What a message does besides being read.
///
/// Its type decides; a sender may switch each off for one message, never on.
public struct MessageTraits: Hashable, Sendable {
    /// Whether it goes into the log.
    ///
    /// Otherwise it reaches whoever is connected now and nobody else.
    public var isStored: Bool
    /// Whether it raises the unread count of everybody but its sender; what is not stored never does.
    public var countsUnread: Bool
    /// Whether a push may tell of it.
    ///
    /// Of a type that has no push by itself one tells where the sender says what it shows (rows 124 and 147).
    public var notifies: Bool
    /// Whether it is the conversation's last message in the list of recents, and moves it up there.
    ///
    /// Where none of the newest 100 is, the newest is all the same.
    public var updatesRecents: Bool

    /// Traits that are on unless they are switched off.
    public init(isStored: Bool = true, countsUnread: Bool = true, notifies: Bool = true, updatesRecents: Bool = true) {
        self.isStored = isStored
        self.countsUnread = countsUnread
        self.notifies = notifies
        self.updatesRecents = updatesRecents
    }

    /// These, less what the sender switched off.
    package func less(_ off: MessageTraits) -> MessageTraits {
        MessageTraits(
            isStored: isStored && off.isStored,
            countsUnread: countsUnread && off.countsUnread && isStored && off.isStored,
            notifies: notifies && off.notifies,
            updatesRecents: updatesRecents && off.updatesRecents && isStored && off.isStored)
    }

    /// As a number for storage: a bit for each that is off.
    package var bits: Int64 {
        (isStored ? 0 : 1) | (countsUnread ? 0 : 2) | (notifies ? 0 : 4) | (updatesRecents ? 0 : 8)
    }

    /// The bit of a message that the list of recents passes over.
    package static let passedOver: Int64 = 8

    /// How many places the list of recents looks back for a message it does not pass over.
    package static let recentsDepth: Int64 = 100

    package init(bits: Int64) {
        self.init(
            isStored: bits & 1 == 0, countsUnread: bits & 2 == 0, notifies: bits & 4 == 0,
            updatesRecents: bits & 8 == 0)
    }
}
