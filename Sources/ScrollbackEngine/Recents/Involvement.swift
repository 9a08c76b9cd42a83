package import ScrollbackModel

/// A summary of a user's membership in a conversation, for the list of recents and for `sync`.
///
/// It has only a few columns, because a user can have ten thousand conversations.
package struct InvolvementRow: Hashable, Sendable {
    /// The store's number of the conversation.
    package var number: Int64
    package var kind: ConversationKind
    /// Whether this is the community itself, not one of its channels.
    package var isCommunityItself: Bool
    package var isDeleted: Bool
    package var isPrivate: Bool
    package var head: Seq
    package var n: Int64
    package var moved: Int64
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
    package var isMuted: Bool
    package var isPinned: Bool
    package var isMarkedUnread: Bool
    package var hasVoids: Bool
    package var removedSeq: Seq
    /// The counted index at or below which nothing is unread, for a conversation that lists the user.
    package var baseN: Int64
    /// The sequence number at or below which nothing is unread, for a conversation that lists the user.
    package var position: Seq
    /// Whether the user is a member now, through the conversation's own list or its community's.
    package var isMember: Bool

    /// Creates a summary with default values.
    package init(number: Int64, kind: ConversationKind, isCommunityItself: Bool) {
        self.number = number
        self.kind = kind
        self.isCommunityItself = isCommunityItself
        isDeleted = false
        isPrivate = false
        head = 0
        n = 0
        moved = 0
        activeAt = Timetoken(rawValue: 0)
        recentSeq = 0
        userRev = 0
        communityRev = 0
        isMuted = false
        isPinned = false
        isMarkedUnread = false
        hasVoids = false
        removedSeq = 0
        baseN = 0
        position = 0
        isMember = false
    }

    package init(of row: ConversationRow, _ member: MemberRow?) {
        self.init(number: row.number, kind: row.id.kind, isCommunityItself: row.id.isCommunityItself)
        isDeleted = row.isDeleted
        isPrivate = row.isPrivate
        head = row.head
        n = row.n
        moved = row.moved
        activeAt = row.activeAt
        recentSeq = row.recentSeq
        standing = member?.standing
        userRev = member?.userRev ?? 0
        isMuted = member?.isMuted ?? false
        isPinned = member?.isPinned ?? false
        isMarkedUnread = member?.isMarkedUnread ?? false
        hasVoids = member?.hasVoids ?? false
        removedSeq = member?.removedSeq ?? 0
        baseN = max(row.floorN, member?.joinN ?? 0, member?.readN ?? 0, member?.clearN ?? 0)
        position = max(member?.readSeq ?? 0, member?.joinSeq ?? 0, member?.clearSeq ?? 0, row.firstSeq - 1)
        isMember = member?.standing == .member
    }

    /// Whether `sync` reports changes of the conversation to the user.
    ///
    /// This is the case for members. It is also the case for a deleted conversation, and for one that was recreated
    /// without the user. In the latter, the user's row has no change counter.
    var follows: Bool { isMember || isDeleted || isMadeAnew }

    /// Whether the conversation was recreated without the user; for a public channel, the community membership decides.
    private var isMadeAnew: Bool { isPublicChannel ? changedRev == 0 : standing == .left && userRev == 0 }

    /// The user's change counter when they last changed something in the conversation or its community.
    var changedRev: Int64 { max(userRev, communityRev) }

    var isPublicChannel: Bool { kind == .community && !isCommunityItself && !isPrivate }

    /// Whether the conversation may be in the list: it has messages newer than when the user removed it.
    var isListed: Bool {
        !isDeleted && kind.traits.hasRecents && !isCommunityItself && head > 0
            && (recentSeq > 0 ? recentSeq : head) > removedSeq
    }

    var place: RecentsPlace { RecentsPlace(isPinned: isPinned, time: activeAt, number: number) }
}

/// The data needed to sort a conversation into the list of recents.
package struct ListedRow: Hashable, Sendable {
    package var place: RecentsPlace
    /// Whether the user is a member.
    ///
    /// Former members are sorted by the newest message they can see, not by `place`.
    package var isMember: Bool
    /// Whether the row is a community, which represents its channels.
    package var isCommunityItself: Bool

    package init(place: RecentsPlace, isMember: Bool, isCommunityItself: Bool) {
        self.place = place
        self.isMember = isMember
        self.isCommunityItself = isCommunityItself
    }
}

/// A position in the list of recents: pinned conversations first, then by time of the last message, then by number.
package struct RecentsPlace: Hashable, Comparable, Sendable {
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

    package static func < (a: RecentsPlace, b: RecentsPlace) -> Bool {
        (a.isPinned ? 1 : 0, a.time, a.number) < (b.isPinned ? 1 : 0, b.time, b.number)
    }
}

extension Engine {
    /// Returns the summaries of all conversations that list a user, and of the channels of the user's communities.
    ///
    /// - Parameters:
    ///   - moved: Leaves out conversations without a later commit than this one,
    ///   - rev: if the user's change counter there is not above this one either. Channels may be included in any case.
    func involvements(
        of user: UserID, movedAbove moved: Int64 = -1, changedAbove rev: Int64 = -1, in store: any StoreReader
    ) throws -> [InvolvementRow] {
        var found: [InvolvementRow] = []
        for involved in try store.involvements(of: user, movedAbove: moved, changedAbove: rev) {
            // Channels are added with their community, because the user may have no row in a public channel.
            if involved.kind != .community { found.append(involved) }
            guard involved.isCommunityItself else { continue }
            for var channel in try channels(of: involved.number, isMember: involved.isMember, for: user, in: store) {
                channel.communityRev = involved.userRev
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
    ) throws -> [InvolvementRow] {
        guard let row = try store.conversation(numbered: community) else { return [] }
        return try store.channelInvolvements(of: user, in: row.id.target).map { channel in
            var channel = channel
            channel.isMember = isMember && (!channel.isPrivate || channel.isMember)
            return channel
        }
    }
}
