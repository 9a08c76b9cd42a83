package import Foundation
package import ScrollbackModel

/// A stored conversation: its settings and the state of its log.
///
/// Names are absolute.
package struct ConversationRow: Hashable, Sendable {
    /// The store's number for the conversation, assigned once; 0 before it is stored.
    package var number: Int64
    package var id: ConversationID
    package var name: String?
    package var avatar: String?
    package var metadata: RawJSON?
    /// When the name or avatar last changed; members whose membership ended earlier don't see them.
    package var namedAt: Timetoken
    package var visibility: HistoryVisibility
    /// Whether this is a channel with its own list of members.
    package var isPrivate: Bool
    /// Whether the conversation is deleted.
    ///
    /// The row stays so that offline devices learn of the deletion, and gets a new log if the conversation is created
    /// again.
    package var isDeleted: Bool
    package var createdAt: Date
    /// A random number that, combined with the store's generation, determines the log's epoch.
    package var salt: UInt64
    package var head: Seq
    /// The counted index at `head`.
    package var countedIndex: Int64
    /// The time of the newest message.
    package var timetoken: Timetoken
    /// The sequence number of the newest message that recents don't skip; 0 if there is none.
    package var recentSeq: Seq
    /// The time of that message.
    package var recentTime: Timetoken
    package var rev: Int64
    /// The lowest sequence number above the retention floor.
    package var firstSeq: Seq
    /// A counted index that messages below `firstSeq` don't exceed, and that all counted messages above it exceed.
    package var floorCountedIndex: Int64
    /// The time of the message at `firstSeq`, or of the newest message if there is none; used by retention.
    package var floorTime: Timetoken
    /// The sequence number below which all rows are removed; rows between it and `firstSeq` are yet to be removed.
    package var sweptSeq: Seq
    /// How long messages are retained, in days; 0 means forever, and `nil` selects the server's setting.
    package var retention: Int64?
    /// The revision up to which changes were deleted; clients with an older state fetch the messages again.
    package var changeFloor: Int64
    /// Whether there are deleted ranges above `firstSeq`.
    package var hasDeletedRanges: Bool
    /// A counter that increases whenever the visible history of all members changes.
    package var view: Int64
    /// Whether only moderators, owners and administrators may write.
    package var isFrozen: Bool
    /// The maximum number of a room's subscribers; `nil` for no limit.
    package var capacity: Int64?
    /// Whether any user was muted since the log was created; if not, sending does not look up mutes.
    package var hasMutes: Bool
    /// Which user of a direct conversation has blocked the other, so that sending does not look up blocks.
    package var blocks: DirectBlocks
    /// Flags for rare conditions, which are looked up only if their flag is set.
    package var flags: ConversationFlags
    /// The number of the last commit that changed the conversation.
    package var lastCommit: Int64

    package init(id: ConversationID, salt: UInt64, createdAt: Date) {
        number = 0
        self.id = id
        namedAt = Timetoken(rawValue: 0)
        visibility = .sinceJoin
        isPrivate = false
        isDeleted = false
        self.createdAt = createdAt
        self.salt = salt
        head = 0
        countedIndex = 0
        timetoken = Timetoken(rawValue: 0)
        recentSeq = 0
        recentTime = Timetoken(rawValue: 0)
        rev = 0
        firstSeq = 1
        floorCountedIndex = 0
        floorTime = Timetoken(rawValue: 0)
        sweptSeq = 1
        changeFloor = 0
        hasDeletedRanges = false
        view = 0
        isFrozen = false
        hasMutes = false
        blocks = []
        flags = []
        lastCommit = 0
    }

    /// Whether this is a channel whose members are its community's.
    var isPublicChannel: Bool { id.kind == .community && !id.isCommunityRoot && !isPrivate }

    /// The time by which the list of recents is sorted.
    package var activeAt: Timetoken { recentSeq > 0 ? recentTime : timetoken }

    package func epoch(in generation: UInt64) -> Epoch {
        var generator = SplitMix64(seed: generation ^ salt)
        return Epoch(rawValue: generator.next())
    }
}

/// Which of a direct conversation's two users have blocked the other, in the order of its absolute name.
package struct DirectBlocks: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static let byFirst = DirectBlocks(rawValue: 1)
    package static let bySecond = DirectBlocks(rawValue: 2)
}

/// Flags for rare conditions of conversations, so that sending looks them up only if necessary.
package struct ConversationFlags: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// A user was banned since the log was created.
    package static let bans = ConversationFlags(rawValue: 1)
    /// A user of a direct conversation is not a member, because they were erased or have not received a message yet.
    ///
    /// The missing user is added with the next message, and an erased user when their name is used again.
    package static let missingParticipant = ConversationFlags(rawValue: 2)
}
