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
    /// The position at or below which nothing is unread for the reader.
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
        guard let row = try store.conversation(id), !row.isDeleted else { throw Access.unknown }
        try self.init(to: row, for: caller, in: store, permissions: permissions, generation: generation, now: now)
    }

    package init(
        to row: ConversationRow, for caller: Caller, in store: any StoreReader, permissions: Permissions,
        generation: UInt64, now: Date
    ) throws {
        let membership = try MembershipHistory(of: caller.user, in: row, store)
        let required = permissions[.read, row.id.kind]
        let canReadWithoutMembership = required.isMet(by: nil, isAdmin: caller.isAdmin)
        // Former members can still see the part of the history from their time as members.
        guard
            required.isMet(by: membership.role, isAdmin: caller.isAdmin)
                || required == .member && membership.hasBeenMember
        else { throw Access.unknown }
        // In a conversation that anyone may read, losing a membership does not revoke access, so bans are checked.
        // Elsewhere, banned users keep access to their part of the history.
        if required == .anyone, !caller.isAdmin {
            try store.checkIsNotBanned(caller.user, from: [row], now: now)
        }

        reader = caller.user
        conversation = row
        community = membership.community
        member = membership.row
        role = membership.role
        let hidden = try member.map { try store.hiddenRanges(of: $0) } ?? []
        let deleted = row.hasDeletedRanges ? try store.deletedRanges(of: nil, in: row.number) : []
        var visible = membership.ranges(in: row, canReadWithoutMembership: canReadWithoutMembership)
        for range in deleted + hidden { visible.remove(range.places) }
        let floor = max(row.firstSeq, (member?.clearSeq ?? 0) + 1)
        self.visible = floor <= row.head ? visible.clipped(to: floor...row.head) : SeqRangeSet()

        let isFollowing = membership.isMember || canReadWithoutMembership
        end = isFollowing ? nil : try membership.end(in: row, store)
        // A channel that was created later did not exist for the reader.
        if let end, row.createdAt > end.time.date { throw Access.unknown }
        // A head never moves back. The head of a former member is therefore the position where they left, even if they
        // can't see the messages before it.
        let head = isFollowing ? row.head : min(row.head, membership.newestLeave)
        state = LogHead(
            epoch: row.epoch(in: generation), view: row.view + (member?.view ?? 0) + membership.communityView,
            head: head,
            firstSeq: self.visible.lowest ?? head + 1, countedIndex: try store.countedIndex(at: head, in: row),
            rev: end.map { min($0.rev, row.rev) } ?? row.rev)
        let joined = try membership.join(in: row, store)
        userRev = max(membership.row?.userRev ?? 0, membership.communityRev)
        isActiveSinceJoin = membership.joinTime.map { row.head > 0 && row.timetoken > $0 } ?? (row.head > joined.seq)
        let seesAll = canReadWithoutMembership || row.visibility == .everything
        let joinedAt = seesAll ? 0 : isFollowing ? membership.spans.first { $0.upper == nil }?.lower ?? 0 : .max
        fullyVisibleAfter = max(joinedAt, member?.hiddenThrough(hidden) ?? 0)
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

    /// The error for a conversation that does not exist, or that the caller may not see.
    static var unknown: ChatError {
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
        return max(joinedAt, member.hiddenThrough(try hiddenRanges(of: member)))
    }

    /// Returns the ranges that a member has hidden from themselves, lowest first.
    fileprivate func hiddenRanges(of member: MemberRow) throws -> [DeletedRangeRow] {
        member.hasDeletedRanges ? try deletedRanges(of: member.user, in: member.conversation) : []
    }
}

extension MemberRow {
    /// Returns the highest sequence number that the member has cleared or hidden.
    ///
    /// - Parameter ranges: The ranges that the member has hidden, lowest first.
    fileprivate func hiddenThrough(_ ranges: [DeletedRangeRow]) -> Seq {
        max(clearSeq, ranges.last?.places.upperBound ?? 0)
    }
}
