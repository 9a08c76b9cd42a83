package import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// Who asks.
package struct Caller: Hashable, Sendable {
    package var user: UserID
    /// Whether their token has the admin scope.
    package var isAdmin: Bool
    /// What their token is good for, where they are no administrator.
    package var scopes: Scopes

    package init(user: UserID, isAdmin: Bool = false, scopes: Scopes = .all) {
        self.user = user
        self.isAdmin = isAdmin
        self.scopes = scopes
    }
}

/// What one reader may see of one conversation: found anew for every request, from the same snapshot the request reads.
package struct Access {
    package let reader: UserID
    package let conversation: ConversationRow
    /// A channel's community.
    package let community: ConversationRow?
    /// The reader's own row; a community channel's, which may be absent though they are a member.
    package let member: MemberRow?
    /// What they may do; absent for who is no member now.
    package let role: Role?
    /// The places they may see, inside the log's floor and head and above what they cleared.
    package let visible: SeqRangeSet
    package let state: LogHead
    /// The running number below everything they may see or must count.
    package let baseN: Int64
    /// The newest place when they joined last: what lies at or below it was never unread for them.
    package let joinSeq: Seq
    /// Their own change counter when they last changed something here, or in the community that makes them a member.
    let userRev: Int64
    /// Whether anything was said since they joined last, be it gone by now.
    private let isActiveSinceJoin: Bool
    /// Every message above this place is theirs to see, as long as nothing more is taken from them.
    package let seesAllAbove: Seq

    /// - Throws: `unknown-conversation` when it does not exist or the reader may not see it: the two do not differ. `banned`
    ///   for who was put out of what anyone may read.
    package init(
        to id: ConversationID, for caller: Caller, in store: any StoreReader, permissions: Permissions,
        generation: UInt64, now: Date
    ) throws {
        guard let row = try store.conversation(id), !row.isDeleted else { throw Access.unknown(id) }
        try self.init(to: row, for: caller, in: store, permissions: permissions, generation: generation, now: now)
    }

    package init(
        to row: ConversationRow, for caller: Caller, in store: any StoreReader, permissions: Permissions,
        generation: UInt64, now: Date
    ) throws {
        let standing = try Standing(of: caller.user, in: row, store)
        let required = permissions[.read, row.id.kind]
        let seesWithoutStanding = required.isMet(by: nil, isAdmin: caller.isAdmin)
        // Who left still sees their part, where being a member is what it takes.
        guard
            required.isMet(by: standing.role, isAdmin: caller.isAdmin)
                || required == .member && standing.hasBeenMember
        else { throw Access.unknown(row.id) }
        // Where anyone may read, nobody is put out by losing a membership. Who was put out elsewhere keeps their part.
        if required == .anyone, !caller.isAdmin {
            try store.checkIsNotBanned(caller.user, from: [row], now: now)
        }

        reader = caller.user
        conversation = row
        community = standing.community
        member = standing.row
        role = standing.role
        var visible = SeqRangeSet()
        if seesWithoutStanding || row.visibility == .everything && standing.isMember {
            if row.head > 0 { visible.insert(1...row.head) }
        } else if row.visibility == .everything {
            let left = standing.spans.compactMap(\.upper).max() ?? 0
            if left > 0 { visible.insert(1...left) }
        } else {
            for span in standing.spans where span.lower < (span.upper ?? row.head) {
                visible.insert((span.lower + 1)...(span.upper ?? row.head))
            }
        }
        if row.hasVoids { for void in try store.voids(of: nil, in: row.number) { visible.remove(void.places) } }
        var takenThrough = member?.clearSeq ?? 0
        if member?.hasVoids == true {
            for void in try store.voids(of: caller.user, in: row.number) {
                visible.remove(void.places)
                takenThrough = max(takenThrough, void.places.upperBound)
            }
        }
        let floor = max(row.firstSeq, (member?.clearSeq ?? 0) + 1)
        self.visible = floor <= row.head ? visible.clipped(to: floor...row.head) : SeqRangeSet()

        let isFollowing = standing.isMember || seesWithoutStanding
        // Where they left, though they may see nothing just before it: a head never goes back.
        let head = isFollowing ? row.head : min(row.head, standing.spans.compactMap(\.upper).max() ?? 0)
        let headN =
            head == row.head ? row.n : try store.place(atOrBelow: head, in: row.number)?.n ?? row.floorN
        state = LogHead(
            epoch: row.epoch(in: generation), view: row.view + (member?.view ?? 0) + (standing.communityView),
            head: head,
            firstSeq: self.visible.lowest ?? head + 1, n: headN, rev: row.rev)
        let joined = try standing.join(in: row, store)
        joinSeq = joined.seq
        userRev = max(standing.row?.userRev ?? 0, standing.communityRev)
        isActiveSinceJoin = standing.joinTime.map { row.head > 0 && row.timetoken > $0 } ?? (row.head > joined.seq)
        let seesAll = seesWithoutStanding || row.visibility == .everything
        let joinedAt = seesAll ? 0 : isFollowing ? standing.spans.first { $0.upper == nil }?.lower ?? 0 : .max
        seesAllAbove = max(joinedAt, takenThrough)
        baseN = max(row.floorN, joined.n, member?.readN ?? 0, member?.clearN ?? 0)
    }

    /// When the conversation was last active, where a member sees nothing of it any more: cleared, deleted, gone.
    var goneTime: Timetoken? {
        visible.isEmpty && role != nil && isActiveSinceJoin ? conversation.activeAt : nil
    }

    /// Where a mute or a freeze keeps from writing here: the conversation, and a channel's community.
    var places: [ConversationRow] { [conversation] + (community.map { [$0] } ?? []) }

    static func unknown(_ id: ConversationID) -> ChatError {
        ChatError(.unknownConversation, "there is no such conversation, or you may not see it")
    }

    /// Places between `firstSeq` and `head` that the reader will never see, inside a range.
    package func voids(in range: SeqRange) -> SeqRangeSet {
        visible.missing(in: range)
    }
}

extension StoreReader {
    /// The place above which somebody who is written down as a member sees every message; of a community itself the time after
    /// which they see all that is said in its channels.
    func seesAllAbove(_ member: MemberRow, in row: ConversationRow) throws -> Seq {
        if row.id.isCommunityItself {
            return try spans(of: member.user, in: row.number).last { $0.left == nil }?.joined ?? .max
        }
        let joinedAt = row.visibility == .everything ? 0 : member.joinSeq
        let hidden = member.hasVoids ? try voids(of: member.user, in: row.number).last?.places.upperBound ?? 0 : 0
        return max(joinedAt, member.clearSeq, hidden)
    }
}

/// Somebody's membership, whichever list it is written in.
private struct Standing {
    struct Span {
        /// The place after which they were a member, and the last one.
        var lower: Seq
        var upper: Seq?
    }

    var row: MemberRow?
    /// A channel's.
    var community: ConversationRow?
    var role: Role?
    var isMember: Bool
    /// Whether they are a member by the community's list: then their own row here keeps a read position only.
    var isByCommunity = false
    var spans: [Span] = []
    /// The community member's change counter.
    var communityRev: Int64 = 0
    /// When they joined last, where that is written as a time.
    var joinTime: Timetoken?
    /// The community member's own part of the view number.
    var communityView: Int64 = 0

    var hasBeenMember: Bool { isMember || !spans.isEmpty }

    init(of user: UserID, in conversation: ConversationRow, _ store: any StoreReader) throws {
        row = try store.member(user, of: conversation.number)
        guard conversation.id.kind == .community, !conversation.id.isCommunityItself else {
            isMember = row?.standing == .member
            role = isMember ? row?.role : nil
            spans = try store.spans(of: user, in: conversation.number).map { Span(lower: $0.joined, upper: $0.left) }
            return
        }
        // A channel: the community's members, in a private one those it lists itself.
        guard let community = try store.conversation(.community(conversation.id.target)), !community.isDeleted else {
            isMember = false
            return
        }
        self.community = community
        let outer = try store.member(user, of: community.number)
        let isOuterMember = outer?.standing == .member
        communityView = outer?.view ?? 0
        communityRev = outer?.userRev ?? 0
        if conversation.isPrivate {
            isMember = isOuterMember && row?.standing == .member
            role = isMember ? max(row?.role ?? .member, outer?.role ?? .member) : nil
            spans = try store.spans(of: user, in: conversation.number).map { Span(lower: $0.joined, upper: $0.left) }
        } else {
            isByCommunity = true
            isMember = isOuterMember
            role = isMember ? outer?.role : nil
            let times = try store.spans(of: user, in: community.number)
            joinTime = (times.first { $0.left == nil } ?? times.last).map { Timetoken(span: $0.joined) }
            spans = try times.map { span in
                Span(
                    lower: try store.place(atOrBefore: Timetoken(span: span.joined), in: conversation),
                    upper: try span.left.map { try store.place(atOrBefore: Timetoken(span: $0), in: conversation) })
            }
        }
    }

    /// Where they joined last, and the running number there.
    func join(in conversation: ConversationRow, _ store: any StoreReader) throws -> (seq: Seq, n: Int64) {
        if let row, row.standing != .reader, !isByCommunity { return (row.joinSeq, row.joinN) }
        guard let last = spans.first(where: { $0.upper == nil }) ?? spans.last, last.lower > 0 else { return (0, 0) }
        if last.lower >= conversation.head { return (conversation.head, conversation.n) }
        let n = try store.message(atOrBelow: last.lower, in: conversation.number)?.n ?? conversation.floorN
        return (last.lower, n)
    }
}

extension Timetoken {
    /// A community's span holds timetokens.
    init(span: Int64) {
        self.init(rawValue: UInt64(bitPattern: span))
    }

    var span: Int64 { Int64(bitPattern: rawValue) }
}
