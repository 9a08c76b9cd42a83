/// The effects of a message in addition to its content.
///
/// The type determines the traits. A sender can turn off traits for a message but can't turn them on.
public struct MessageTraits: Hashable, Sendable {
    /// Whether the message is stored in the log.
    ///
    /// Otherwise it reaches only users who are connected at the moment.
    public var isStored: Bool
    /// Whether the message increases the unread count of everyone except its sender; requires ``isStored``.
    public var countsUnread: Bool
    /// Whether the message can trigger a push.
    ///
    /// A message of a type without pushes triggers one only if the sender sets its push text.
    public var notifies: Bool
    /// Whether the message becomes the last message in the recents list and moves the conversation to the top.
    ///
    /// If none of the newest 100 messages has this trait, the list shows the newest message.
    public var updatesRecents: Bool

    /// Creates traits, which are on by default.
    public init(isStored: Bool = true, countsUnread: Bool = true, notifies: Bool = true, updatesRecents: Bool = true) {
        self.isStored = isStored
        self.countsUnread = countsUnread
        self.notifies = notifies
        self.updatesRecents = updatesRecents
    }

    /// Returns these traits without those that the sender turned off.
    package func restricted(by others: MessageTraits) -> MessageTraits {
        MessageTraits(
            isStored: isStored && others.isStored,
            countsUnread: countsUnread && others.countsUnread && isStored && others.isStored,
            notifies: notifies && others.notifies,
            updatesRecents: updatesRecents && others.updatesRecents && isStored && others.isStored)
    }

    /// The traits as a number for storage, with one bit for each trait that is off.
    package var bits: Int64 {
        (isStored ? 0 : 1) | (countsUnread ? 0 : 2) | (notifies ? 0 : 4) | (updatesRecents ? 0 : 8)
    }

    /// The bit of a message that does not update recents.
    package static let skipsRecentsBit: Int64 = 8

    /// The number of sequence numbers that the recents list searches for a message that updates it.
    package static let recentsDepth: Int64 = 100

    package init(bits: Int64) {
        self.init(
            isStored: bits & 1 == 0, countsUnread: bits & 2 == 0, notifies: bits & 4 == 0,
            updatesRecents: bits & 8 == 0)
    }
}
