package import ScrollbackModel

/// A summary of a user's membership in a conversation, for the list of recents and for `sync`.
///
/// It has only a few columns, because a user can have ten thousand conversations.
package struct MembershipSummary: Hashable, Sendable {
    /// The store's number of the conversation.
    package var number: Int64
    package var kind: ConversationKind
    /// Whether this is the community itself, not one of its channels.
    package var isCommunityRoot: Bool
    package var isDeleted: Bool
    package var isPrivate: Bool
    package var head: Seq
    package var countedIndex: Int64
    package var lastCommit: Int64
    /// The time by which the list is sorted.
    package var activeAt: Timetoken
    /// The sequence number of the newest message that recents don't skip; 0 if there is none.
    package var recentSeq: Seq
    /// The standing in the user's membership row; `nil` if the user has no row.
    package var standing: MemberRow.Standing?
    package var userRev: Int64
    /// The user's change counter in the community of a channel.
    ///
    /// Changes in the community, such as joining it, concern each of its channels.
    package var communityRev: Int64
    package var mutesPushes: Bool
    package var isPinned: Bool
    package var isMarkedUnread: Bool
    package var hasDeletedRanges: Bool
    package var removedSeq: Seq
    /// The position at or below which nothing is unread, for a conversation with a row for the user.
    ///
    /// For a public channel, which the user joins through its community, see ``Access/unreadBase``.
    package var unreadBase: UnreadBase
    /// Whether the user is a member now, through the conversation's own list or its community's.
    package var isMember: Bool

    /// Creates a summary with default values.
    package init(number: Int64, kind: ConversationKind, isCommunityRoot: Bool) {
        self.number = number
        self.kind = kind
        self.isCommunityRoot = isCommunityRoot
        isDeleted = false
        isPrivate = false
        head = 0
        countedIndex = 0
        lastCommit = 0
        activeAt = Timetoken(rawValue: 0)
        recentSeq = 0
        userRev = 0
        communityRev = 0
        mutesPushes = false
        isPinned = false
        isMarkedUnread = false
        hasDeletedRanges = false
        removedSeq = 0
        unreadBase = UnreadBase()
        isMember = false
    }

    package init(of row: ConversationRow, _ member: MemberRow?) {
        self.init(number: row.number, kind: row.id.kind, isCommunityRoot: row.id.isCommunityRoot)
        isDeleted = row.isDeleted
        isPrivate = row.isPrivate
        head = row.head
        countedIndex = row.countedIndex
        lastCommit = row.lastCommit
        activeAt = row.activeAt
        recentSeq = row.recentSeq
        standing = member?.standing
        userRev = member?.userRev ?? 0
        mutesPushes = member?.mutesPushes ?? false
        isPinned = member?.isPinned ?? false
        isMarkedUnread = member?.isMarkedUnread ?? false
        hasDeletedRanges = member?.hasDeletedRanges ?? false
        removedSeq = member?.removedSeq ?? 0
        unreadBase = UnreadBase(of: row, member)
        isMember = member?.standing == .member
    }

    /// Creates a summary of what the reader can see.
    ///
    /// A former member's `head` is where they left.
    init(of access: Access) {
        self.init(of: access.conversation, access.member)
        head = access.state.head
        countedIndex = access.state.countedIndex
        unreadBase = access.unreadBase
        isMember = access.role != nil
    }

    /// Whether `sync` reports changes of the conversation to the user.
    ///
    /// This is the case for members. It is also the case for a deleted conversation, and for one that was recreated
    /// without the user. In the latter, the user's row has no change counter.
    var isReportedBySync: Bool { isMember || isDeleted || isRecreated }

    /// Whether the conversation was recreated without the user; for a public channel, the community membership decides.
    private var isRecreated: Bool { isPublicChannel ? changedRev == 0 : standing == .left && userRev == 0 }

    /// The user's change counter when they last changed something in the conversation or its community.
    var changedRev: Int64 { max(userRev, communityRev) }

    var isPublicChannel: Bool { kind == .community && !isCommunityRoot && !isPrivate }

    /// Whether the conversation is in the user's list: it has messages newer than when the user removed it.
    ///
    /// Messages that recents skip count only if there are no others. Messages that were sent after the user left don't
    /// count.
    package var isListed: Bool {
        !isDeleted && kind.traits.hasRecents && !isCommunityRoot
            && min(head, recentSeq > 0 ? recentSeq : head) > removedSeq
    }

    /// Whether messages may be unread; for a public channel, only ``Access`` knows.
    package var mayHaveUnreadMessages: Bool { kind == .community || head > unreadBase.position }

    /// Where the conversation is in the list of recents, if the user is a member.
    var recentsPosition: RecentsPosition { RecentsPosition(isPinned: isPinned, time: activeAt, number: number) }
}

/// A conversation that may be in a user's list of recents, with the data needed to sort it.
package struct RecentsCandidate: Hashable, Sendable {
    package var position: RecentsPosition
    /// Whether the user is a member.
    ///
    /// Former members are sorted by the newest message they can see, not by `position`.
    package var isMember: Bool
    /// Whether the row is a community, which represents its channels.
    package var isCommunityRoot: Bool

    package init(position: RecentsPosition, isMember: Bool, isCommunityRoot: Bool) {
        self.position = position
        self.isMember = isMember
        self.isCommunityRoot = isCommunityRoot
    }
}

/// A position in the list of recents: pinned conversations first, then by time of the last message, then by number.
package struct RecentsPosition: Hashable, Comparable, Sendable {
    package var isPinned: Bool
    package var time: Timetoken
    package var number: Int64

    package init(isPinned: Bool, time: Timetoken, number: Int64) {
        self.isPinned = isPinned
        self.time = time
        self.number = number
    }

    init(_ numbers: some Collection<UInt64>) throws(ChatError) {
        let values = Array(numbers)
        guard values.count == 3, values[0] <= 1, values[2] <= Int64.max else {
            throw .invalidParameter("cursor", "must be an unchanged cursor from a previous page")
        }
        self.init(isPinned: values[0] == 1, time: Timetoken(rawValue: values[1]), number: Int64(values[2]))
    }

    init(_ text: String) throws(ChatError) {
        try self.init(text.split(separator: ".").map { UInt64($0, radix: 36) ?? .max })
    }

    var numbers: [UInt64] { [isPinned ? 1 : 0, time.rawValue, UInt64(number)] }
    var text: String { numbers.map { String($0, radix: 36) }.joined(separator: ".") }

    package static func < (a: RecentsPosition, b: RecentsPosition) -> Bool {
        (a.isPinned ? 1 : 0, a.time, a.number) < (b.isPinned ? 1 : 0, b.time, b.number)
    }
}

extension Engine {
    /// Returns the summaries of all conversations that list a user, and of the channels of the user's communities.
    ///
    /// A conversation is left out if its last commit is not after `lastCommit` and the user's change counter in it is
    /// not above `rev`. Channels may be included in any case.
    ///
    /// - Parameters:
    ///   - lastCommit: The last commit that the caller knows; -1 for all conversations.
    ///   - rev: The user's change counter that the caller knows; -1 for all conversations.
    func membershipSummaries(
        of user: UserID, committedAfter lastCommit: Int64 = -1, changedAbove rev: Int64 = -1, in store: any StoreReader
    ) throws -> [MembershipSummary] {
        var found: [MembershipSummary] = []
        for membership in try store.membershipSummaries(of: user, committedAfter: lastCommit, changedAbove: rev) {
            // Channels are added with their community, because the user may have no row in a public channel.
            if membership.kind != .community { found.append(membership) }
            guard membership.isCommunityRoot else { continue }
            for var channel in try channels(of: membership.number, isMember: membership.isMember, for: user, in: store)
            {
                channel.communityRev = membership.userRev
                found.append(channel)
            }
        }
        return found
    }

    /// Returns the summaries of a community's channels.
    ///
    /// - Parameter isMember: Whether the user is a member of the community.
    func channels(
        of community: Int64, isMember: Bool, for user: UserID, in store: any StoreReader
    ) throws -> [MembershipSummary] {
        try store.channelSummaries(of: user, in: community).map { channel in
            var channel = channel
            channel.isMember = isMember && (!channel.isPrivate || channel.isMember)
            return channel
        }
    }
}
