package import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// The user who makes a request, with the rights of their token.
package struct Caller: Hashable, Sendable {
    package var user: UserID
    /// Whether the token has the admin scope.
    package var isAdmin: Bool
    /// The scopes of the token; ignored for administrators.
    package var scopes: Scopes
    /// The token, for the audit log.
    package var token: TokenSource?

    package init(user: UserID, isAdmin: Bool = false, scopes: Scopes = .all, token: TokenSource? = nil) {
        self.user = user
        self.isAdmin = isAdmin
        self.scopes = scopes
        self.token = token
    }
}

/// What one user can see of one conversation, computed for each request from the request's snapshot.
package struct Access {
    package let reader: UserID
    package let conversation: ConversationRow
    /// The community of a channel.
    package let community: ConversationRow?
    /// The reader's membership row in this conversation.
    ///
    /// In a public channel it may be `nil` although the reader is a member.
    package let member: MemberRow?
    /// The reader's role; `nil` if the reader is not a member now.
    package let role: Role?
    /// The sequence numbers that the reader can see, between the retention floor and the head and above the cleared
    /// history.
    package let visible: SeqRangeSet
    /// The log's head and counters as the reader sees them.
    package let state: LogHead
    /// When the reader's membership ended, if they see the conversation as it was then; `nil` if they see the present.
    let end: MembershipEnd?
    /// The place at or below which nothing is unread for the reader.
    package let unreadBase: UnreadBase
    /// The reader's change counter when the reader last changed state here or in the community.
    let userRev: Int64
    /// Whether a message was sent since the reader last joined, even if it is deleted now.
    private let isActiveSinceJoin: Bool
    /// The sequence number above which the reader can see every message, unless messages are deleted or access is
    /// revoked.
    package let fullyVisibleAfter: Seq

    /// Computes what a user can see of a conversation.
    ///
    /// - Throws: `unknown-conversation` if the conversation does not exist or the caller may not see it; both cases
    ///   have the same error. `banned` if anyone may read the conversation but the caller is banned from it.
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
        let canReadWithoutMembership = required.isMet(by: nil, isAdmin: caller.isAdmin)
        // Former members can still see the part of the history from their time as members.
        guard
            required.isMet(by: standing.role, isAdmin: caller.isAdmin)
                || required == .member && standing.hasBeenMember
        else { throw Access.unknown(row.id) }
        // In a conversation that anyone may read, losing a membership does not revoke access, so bans are checked.
        // Elsewhere, banned users keep access to their part of the history.
        if required == .anyone, !caller.isAdmin {
            try store.checkIsNotBanned(caller.user, from: [row], now: now)
        }

        reader = caller.user
        conversation = row
        community = standing.community
        member = standing.row
        role = standing.role
        var visible = SeqRangeSet()
        if canReadWithoutMembership || row.visibility == .everything && standing.isMember {
            if row.head > 0 { visible.insert(1...row.head) }
        } else if row.visibility == .everything {
            let left = standing.spans.compactMap(\.upper).max() ?? 0
            if left > 0 { visible.insert(1...left) }
        } else {
            for span in standing.spans where span.lower < (span.upper ?? row.head) {
                visible.insert((span.lower + 1)...(span.upper ?? row.head))
            }
        }
        if row.hasDeletedRanges {
            for deletedRange in try store.deletedRanges(of: nil, in: row.number) { visible.remove(deletedRange.places) }
        }
        var hiddenThrough = member?.clearSeq ?? 0
        if member?.hasDeletedRanges == true {
            for deletedRange in try store.deletedRanges(of: caller.user, in: row.number) {
                visible.remove(deletedRange.places)
                hiddenThrough = max(hiddenThrough, deletedRange.places.upperBound)
            }
        }
        let floor = max(row.firstSeq, (member?.clearSeq ?? 0) + 1)
        self.visible = floor <= row.head ? visible.clipped(to: floor...row.head) : SeqRangeSet()

        let isFollowing = standing.isMember || canReadWithoutMembership
        end = isFollowing ? nil : try standing.end(in: row, store)
        // A channel that was created later did not exist for the reader.
        if let end, row.createdAt > end.time.date { throw Access.unknown(row.id) }
        // A head never moves back. The head of a former member is therefore the position where they left, even if they
        // can't see the messages before it.
        let head = isFollowing ? row.head : min(row.head, standing.spans.compactMap(\.upper).max() ?? 0)
        let headCountedIndex =
            head == row.head
            ? row.countedIndex
            : try store.position(atOrBelow: head, in: row.number)?.countedIndex ?? row.floorCountedIndex
        state = LogHead(
            epoch: row.epoch(in: generation), view: row.view + (member?.view ?? 0) + (standing.communityView),
            head: head,
            firstSeq: self.visible.lowest ?? head + 1, countedIndex: headCountedIndex,
            rev: end.map { min($0.rev, row.rev) } ?? row.rev)
        let joined = try standing.join(in: row, store)
        userRev = max(standing.row?.userRev ?? 0, standing.communityRev)
        isActiveSinceJoin = standing.joinTime.map { row.head > 0 && row.timetoken > $0 } ?? (row.head > joined.seq)
        let seesAll = canReadWithoutMembership || row.visibility == .everything
        let joinedAt = seesAll ? 0 : isFollowing ? standing.spans.first { $0.upper == nil }?.lower ?? 0 : .max
        fullyVisibleAfter = max(joinedAt, hiddenThrough)
        unreadBase = UnreadBase(of: row, member, joined: joined)
    }

    /// Computes what a user can see of a conversation, or returns `nil` if they may not see it.
    init?(
        ifVisible row: ConversationRow, to caller: Caller, in store: any StoreReader, permissions: Permissions,
        generation: UInt64, now: Date
    ) throws {
        do {
            try self.init(to: row, for: caller, in: store, permissions: permissions, generation: generation, now: now)
        } catch let error as ChatError where error.code == .unknownConversation || error.code == .banned {
            return nil
        }
    }

    /// When the conversation was last active, if the member can no longer see any of its messages; `nil` otherwise.
    var activeTimeIfEmpty: Timetoken? {
        visible.isEmpty && role != nil && isActiveSinceJoin ? conversation.activeAt : nil
    }

    /// The conversations whose mutes and freezes apply here: this conversation and, for a channel, its community.
    var restrictingConversations: [ConversationRow] { [conversation] + (community.map { [$0] } ?? []) }

    static func unknown(_ id: ConversationID) -> ChatError {
        ChatError(.unknownConversation, "The conversation does not exist, or you may not see it.")
    }

    /// Returns the sequence numbers in a range that the reader can't see and never will.
    package func invisibleRanges(in range: SeqRange) -> SeqRangeSet {
        visible.missing(in: range)
    }
}

extension StoreReader {
    /// Returns the sequence number above which a member can see every message.
    ///
    /// For a community itself, the result is a time instead: the member can see everything sent to its channels after
    /// it.
    func fullyVisibleAfter(_ member: MemberRow, in row: ConversationRow) throws -> Seq {
        if row.id.isCommunityRoot {
            return try spans(of: member.user, in: row.number).last { $0.left == nil }?.joined ?? .max
        }
        let joinedAt = row.visibility == .everything ? 0 : member.joinSeq
        let hidden =
            member.hasDeletedRanges
            ? try deletedRanges(of: member.user, in: row.number).last?.places.upperBound ?? 0 : 0
        return max(joinedAt, member.clearSeq, hidden)
    }
}

/// A user's membership in a conversation, from the conversation's own list or its community's list.
private struct Standing {
    struct Span {
        /// The membership span: the head when the user joined, and the head when they left.
        var lower: Seq
        var upper: Seq?
    }

    var row: MemberRow?
    /// The community of a channel.
    var community: ConversationRow?
    var role: Role?
    var isMember: Bool
    /// Whether the user is a member through the community's list; their row in the channel then has a read position
    /// only.
    var isByCommunity = false
    var spans: [Span] = []
    /// The newest membership span, with how it ended.
    var newestSpan: SpanRow?
    /// The change counter in the user's community membership row.
    var communityRev: Int64 = 0
    /// When the user last joined; set only for memberships through the community, which are recorded as times.
    var joinTime: Timetoken?
    /// The view counter in the user's community membership row.
    var communityView: Int64 = 0

    var hasBeenMember: Bool { isMember || !spans.isEmpty }

    init(of user: UserID, in conversation: ConversationRow, _ store: any StoreReader) throws {
        row = try store.member(user, of: conversation.number)
        guard conversation.id.kind == .community, !conversation.id.isCommunityRoot else {
            isMember = row?.standing == .member
            role = isMember ? row?.role : nil
            try readSpans(of: user, in: conversation, store)
            return
        }
        // The members of a public channel are the community's; a private channel lists its own.
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
            try readSpans(of: user, in: conversation, store)
        } else {
            isByCommunity = true
            isMember = isOuterMember
            role = isMember ? outer?.role : nil
            let times = try store.spans(of: user, in: community.number)
            newestSpan = times.last
            joinTime = (times.first { $0.left == nil } ?? times.last).map { Timetoken(span: $0.joined) }
            spans = try times.map { span in
                Span(
                    lower: try store.position(atOrBefore: Timetoken(span: span.joined), in: conversation),
                    upper: try span.left.map { try store.position(atOrBefore: Timetoken(span: $0), in: conversation) })
            }
        }
    }

    private mutating func readSpans(of user: UserID, in conversation: ConversationRow, _ store: any StoreReader) throws
    {
        let rows = try store.spans(of: user, in: conversation.number)
        spans = rows.map { Span(lower: $0.joined, upper: $0.left) }
        newestSpan = rows.last
    }

    /// Returns how the newest membership ended.
    ///
    /// The end of a membership in a community, or before servers kept it, is only a time. For the latter, it is the
    /// time of the last message before the end, which shows less and never more.
    func end(in conversation: ConversationRow, _ store: any StoreReader) throws -> MembershipEnd {
        if !isByCommunity, let end = newestSpan?.end { return MembershipEnd(end, in: conversation) }
        let time: Timetoken
        if isByCommunity || conversation.id.isCommunityRoot {
            time = Timetoken(span: newestSpan?.left ?? 0)
        } else {
            // Imported messages can be older than the conversation.
            let last = try store.position(atOrBelow: newestSpan?.left ?? 0, in: conversation.number)?.timetoken
            time = max(last ?? Timetoken(rawValue: 0), Timetoken(conversation.createdAt))
        }
        return try MembershipEnd(at: time, in: conversation, store)
    }

    /// Returns the sequence number and the counted index at which the user last joined.
    func join(in conversation: ConversationRow, _ store: any StoreReader) throws -> (seq: Seq, countedIndex: Int64) {
        if let row, row.standing != .reader, !isByCommunity { return (row.joinSeq, row.joinCountedIndex) }
        guard let last = spans.first(where: { $0.upper == nil }) ?? spans.last, last.lower > 0 else { return (0, 0) }
        if last.lower >= conversation.head { return (conversation.head, conversation.countedIndex) }
        let countedIndex =
            try store.position(atOrBelow: last.lower, in: conversation.number)?.countedIndex
            ?? conversation.floorCountedIndex
        return (last.lower, countedIndex)
    }
}

extension Timetoken {
    /// Creates a timetoken from the boundary of a community's membership span.
    init(span: Int64) {
        self.init(rawValue: UInt64(bitPattern: span))
    }

    var span: Int64 { Int64(bitPattern: rawValue) }
}
