package import ScrollbackModel

/// What a user has to do with one conversation, as far as the list of recents and a pass of `sync` look at all of them: a
/// few columns, since somebody may have ten thousand.
package struct InvolvementRow: Hashable, Sendable {
    /// The conversation's short name.
    package var number: Int64
    package var kind: ConversationKind
    /// The community itself, and not one of its channels.
    package var isCommunityItself: Bool
    package var isDeleted: Bool
    package var isPrivate: Bool
    package var head: Seq
    package var n: Int64
    package var moved: Int64
    /// What the list is sorted by.
    package var activeAt: Timetoken
    /// The newest message that the list does not pass over; 0 for none.
    package var recentSeq: Seq
    /// Their own row's; absent where they have none.
    package var standing: MemberRow.Standing?
    package var userRev: Int64
    /// Their change counter in the community of a channel: what they change there, joining above all, concerns each.
    package var communityRev: Int64
    package var isMuted: Bool
    package var isPinned: Bool
    package var isMarkedUnread: Bool
    package var hasVoids: Bool
    package var removedSeq: Seq
    /// The running number below everything they must count, of a conversation that lists them.
    package var baseN: Int64
    /// The place up to which nothing is unread, likewise.
    package var position: Seq
    /// Whether they are a member now, by whichever list.
    package var isMember: Bool

    /// One of which nothing else is known.
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

    /// Whether what happens there is their business.
    ///
    /// Who left hears that they left, and of the end: that it was deleted, and perhaps made anew without them,
    /// which leaves a row that counts no change of theirs.
    var follows: Bool { isMember || isDeleted || isMadeAnew }

    /// Of a public channel its community tells, since there they are.
    private var isMadeAnew: Bool { isPublicChannel ? changedRev == 0 : standing == .left && userRev == 0 }

    /// Their own change counter when they last changed something there, or in the community.
    var changedRev: Int64 { max(userRev, communityRev) }

    var isPublicChannel: Bool { kind == .community && !isCommunityItself && !isPrivate }

    /// Whether it may have a place in the list: something was said there, and they did not take it out since.
    var isListed: Bool {
        !isDeleted && kind.traits.hasRecents && !isCommunityItself && head > 0
            && (recentSeq > 0 ? recentSeq : head) > removedSeq
    }

    var place: RecentsPlace { RecentsPlace(isPinned: isPinned, time: activeAt, number: number) }
}

/// What finding a conversation's place in a list takes.
package struct ListedRow: Hashable, Sendable {
    package var place: RecentsPlace
    /// Who left stands by the newest message they may see, and not there.
    package var isMember: Bool
    /// A community stands for its channels.
    package var isCommunityItself: Bool

    package init(place: RecentsPlace, isMember: Bool, isCommunityItself: Bool) {
        self.place = place
        self.isMember = isMember
        self.isCommunityItself = isCommunityItself
    }
}

/// A place in the list of recent conversations: pinned ones first, then by the time of the last message, then by number.
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
            throw .invalidParameter("cursor", "must be one that the list gave, as it was")
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
    /// Everything a user has to do with: the conversations that list them, and the channels of their communities.
    ///
    /// - Parameters:
    ///   - moved: without conversations that no commit above this moved,
    ///   - rev: and in which they changed nothing above this; channels may be among them all the same.
    func involvements(
        of user: UserID, movedAbove moved: Int64 = -1, changedAbove rev: Int64 = -1, in store: any StoreReader
    ) throws -> [InvolvementRow] {
        var found: [InvolvementRow] = []
        for involved in try store.involvements(of: user, movedAbove: moved, changedAbove: rev) {
            // A channel's is found with its community: a public one may have no row of theirs.
            if involved.kind != .community { found.append(involved) }
            guard involved.isCommunityItself else { continue }
            for var channel in try channels(of: involved.number, isMember: involved.isMember, for: user, in: store) {
                channel.communityRev = involved.userRev
                found.append(channel)
            }
        }
        return found
    }

    /// - Parameter isMember: whether the user is one of the community.
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
