import ScrollbackModel

/// A user's membership in a conversation, from the conversation's own list or its community's list.
struct MembershipHistory {
    struct Span {
        /// The membership span: the head when the user joined, and the head when they left.
        var lower: Seq
        var upper: Seq?
    }

    var row: MemberRow?
    /// The community of a channel.
    var community: ConversationRow?
    var role: Role?
    var isMember: Bool { role != nil }
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
            role = conversation.role(own: row, community: nil)
            try readSpans(of: user, in: conversation, store)
            return
        }
        // The members of a public channel are the community's; a private channel lists its own.
        guard let community = try store.community(of: conversation), !community.isDeleted else { return }
        self.community = community
        let outer = try store.member(user, of: community.number)
        role = conversation.role(own: row, community: outer)
        communityView = outer?.view ?? 0
        communityRev = outer?.userRev ?? 0
        if conversation.isPrivate {
            try readSpans(of: user, in: conversation, store)
        } else {
            isByCommunity = true
            let times = try store.spans(of: user, in: community.number)
            newestSpan = times.last
            joinTime = times.newestJoin.map { Timetoken(span: $0) }
            spans = try times.map { span in
                Span(
                    lower: try store.position(atOrBefore: Timetoken(span: span.joined), in: conversation),
                    upper: try span.left.map { try store.position(atOrBefore: Timetoken(span: $0), in: conversation) })
            }
        }
    }

    /// The newest position at which the user left; 0 if they never did.
    var newestLeave: Seq { spans.compactMap(\.upper).max() ?? 0 }

    /// Returns the sequence numbers that the user can see if none of them is deleted or hidden.
    func ranges(in conversation: ConversationRow, canReadWithoutMembership: Bool) -> SeqRangeSet {
        var ranges = SeqRangeSet()
        let head = conversation.head
        if canReadWithoutMembership || conversation.visibility == .everything {
            let last = canReadWithoutMembership || isMember ? head : newestLeave
            if last > 0 { ranges.insert(1...last) }
        } else {
            for span in spans where span.lower < (span.upper ?? head) {
                ranges.insert((span.lower + 1)...(span.upper ?? head))
            }
        }
        return ranges
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
        return try store.joinPosition(at: last.lower, in: conversation)
    }
}

extension [SpanRow] {
    /// Where the current membership begins, or else the last one.
    var newestJoin: Int64? { (first { $0.left == nil } ?? last)?.joined }
}

extension StoreReader {
    /// Returns a sequence number at which a user joined with its counted index; at most the head of the log.
    func joinPosition(at seq: Seq, in row: ConversationRow) throws -> (seq: Seq, countedIndex: Int64) {
        let seq = min(seq, row.head)
        return (seq, try countedIndex(at: seq, in: row))
    }
}

extension Timetoken {
    /// Creates a timetoken from the boundary of a community's membership span.
    init(span: Int64) {
        self.init(rawValue: UInt64(bitPattern: span))
    }

    var span: Int64 { Int64(bitPattern: rawValue) }
}
