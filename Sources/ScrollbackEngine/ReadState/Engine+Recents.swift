import HeapModule
package import ScrollbackModel

/// A filter for the list of recent conversations.
package struct RecentsListFilter: Hashable, Sendable {
    package var kind: ConversationKind?
    package var isMuted: Bool?
    /// Whether to return only conversations with unread messages or mentions, or marked as unread.
    package var isUnread = false

    package init(kind: ConversationKind? = nil, isMuted: Bool? = nil, isUnread: Bool = false) {
        self.kind = kind
        self.isMuted = isMuted
        self.isUnread = isUnread
    }

    /// The kinds of conversations that no list has, as SQL literals for a prefilter.
    ///
    /// With literals, SQLite does not build a temporary table and search it for each row.
    package static let unlistedKinds = ConversationKind.allCases.filter { !$0.traits.hasRecents }
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

/// The conversations to mark as read: those of one kind, or all.
package struct ReadScope: Hashable, Sendable {
    package var kind: ConversationKind?
    /// The time up to and including which messages are marked as read; `nil` for all messages.
    package var upTo: Timetoken?

    package init(kind: ConversationKind? = nil, upTo: Timetoken? = nil) {
        self.kind = kind
        self.upTo = upTo
    }
}

extension Engine {
    /// Returns the caller's list of recent conversations: pinned conversations first, then by newest activity.
    package func recents(
        _ filter: RecentsListFilter = .init(), limit: Int, cursor: String? = nil, by caller: Caller
    ) throws -> (heads: [ConversationHead], next: String?) {
        try checkLimit(limit)
        let bound = try cursor.map { try RecentsPosition($0) }
        return try store.read { store in
            var heads: [ConversationHead] = []
            var last: RecentsPosition?
            var bytes = 0
            // A page has a hundred of possibly ten thousand conversations, so a heap is cheaper than sorting all.
            var positions = Heap(try positions(filter, below: bound, for: caller, in: store))
            var next: ArraySlice<RecentsPosition> = []
            while !next.isEmpty || !positions.isEmpty {
                if heads.count == limit || bytes >= ResponseBudget.answerBytes { return (heads, last?.text) }
                if next.isEmpty {
                    next = ArraySlice((heads.count..<limit).compactMap { _ in positions.popMax() })
                    try store.readAhead(headsOf: next.map(\.number), for: caller.user)
                }
                let position = next.removeFirst()
                last = position
                guard let row = try store.conversation(numbered: position.number),
                    let access = try visible(row, for: caller, in: store),
                    filter.mayMatch(MembershipSummary(of: access)),
                    case let head = try head(of: access, for: caller.user, in: store),
                    head.recentTime != nil, !filter.isUnread || head.hasUnread
                else { continue }
                heads.append(head)
                bytes += head.weight
            }
            return (heads, nil)
        }
    }

    /// Returns the list positions of all conversations that may match, in any order.
    private func positions(
        _ filter: RecentsListFilter, below bound: RecentsPosition?, for caller: Caller, in store: any StoreReader
    ) throws -> [RecentsPosition] {
        var positions: [RecentsPosition] = []
        func add(_ position: RecentsPosition, isMember: Bool) throws {
            var position = position
            if !isMember { position.time = try newestVisibleTime(in: position.number, by: caller, in: store) }
            if bound.map({ position < $0 }) ?? true { positions.append(position) }
        }
        for candidate in try store.recentsCandidates(of: caller.user, filter) {
            guard candidate.isCommunityRoot else {
                try add(candidate.position, isMember: candidate.isMember)
                continue
            }
            let channels = try channels(
                of: candidate.position.number, isMember: candidate.isMember, for: caller.user, in: store)
            for channel in channels where filter.mayMatch(channel) {
                try add(channel.recentsPosition, isMember: channel.isMember)
            }
        }
        return positions
    }

    /// Returns the list position's time for a former member: the time of the newest message they can see.
    private func newestVisibleTime(
        in number: Int64, by caller: Caller, in store: any StoreReader
    ) throws -> Timetoken {
        guard let row = try store.conversation(numbered: number) else { return Timetoken(rawValue: 0) }
        let newest = try visible(row, for: caller, in: store)?.visible.highest ?? 0
        return try store.position(atOrBelow: newest, in: number)?.timetoken ?? Timetoken(rawValue: 0)
    }

    /// Returns the unread counts of all conversations in the caller's list, in total.
    package func totals(by caller: Caller) throws -> UnreadTotals {
        try store.read { store in
            try totals(of: membershipSummaries(of: caller.user, in: store), for: caller, in: store)
        }
    }

    func totals(
        of memberships: [MembershipSummary], for caller: Caller, in store: any StoreReader
    ) throws -> UnreadTotals {
        var totals = UnreadTotals()
        let adjustments = try store.unreadAdjustments(of: caller.user)
        for row in memberships where row.isListed && row.isMember && row.mayHaveUnreadMessages {
            var (messages, mentions): (Int64, Int64) = (0, 0)
            let adjustment = adjustments[row.number]
            if row.kind == .community || adjustment?.mayBeMentioned == true {
                (messages, mentions) = try unread(row, for: caller, in: store)
            } else if let numbers = row.unreadBase.countedIndexes(through: row.countedIndex) {
                messages = Int64(numbers.count) - (adjustment?.uncounted(among: numbers) ?? 0)
            }
            totals.add(messages, mentions: mentions, kind: row.kind, isMuted: row.mutesPushes)
        }
        return totals
    }

    private func unread(
        _ row: MembershipSummary, for caller: Caller, in store: any StoreReader
    ) throws -> (messages: Int64, mentions: Int64) {
        guard let conversation = try store.conversation(numbered: row.number),
            let access = try visible(conversation, for: caller, in: store)
        else { return (0, 0) }
        let unread = try Unread(of: caller.user, access, in: store)
        return (unread.messages, unread.mentions)
    }

    /// Returns the read marks that mark a scope as read, for conversations with something unread.
    package func marks(_ scope: ReadScope, by caller: Caller) throws -> [ReadMark] {
        try store.read { store in
            try membershipSummaries(of: caller.user, in: store).compactMap { membership -> ReadMark? in
                guard membership.isMember, !membership.isDeleted, !membership.isCommunityRoot,
                    membership.kind.traits.hasRecents, scope.kind.map({ $0 == membership.kind }) ?? true,
                    membership.mayHaveUnreadMessages || membership.isMarkedUnread,
                    let row = try store.conversation(numbered: membership.number),
                    let position = try position(of: membership, row, for: caller, in: store)
                else { return nil }
                let seq = try scope.upTo.map { try store.position(atOrBefore: $0, in: row) } ?? row.head
                guard seq > position || membership.isMarkedUnread else { return nil }
                let mark = EpochPosition(seq: max(0, seq), epoch: row.epoch(in: self.store.generation))
                return ReadMark(conversation: row.id.relative(to: caller.user), position: mark)
            }
        }
    }

    /// Returns the sequence number up to which nothing is unread.
    ///
    /// For a public channel, the join position comes from the community membership. The user's row in the channel may
    /// be absent, or be from a time when the channel was private.
    private func position(
        of membership: MembershipSummary, _ row: ConversationRow, for caller: Caller, in store: any StoreReader
    ) throws -> Seq? {
        guard membership.isPublicChannel else { return membership.unreadBase.position }
        return try visible(row, for: caller, in: store)?.unreadBase.position
    }
}

extension RecentsListFilter {
    /// Returns whether a conversation may match the filter, as far as its summary row shows.
    package func mayMatch(_ row: MembershipSummary) -> Bool {
        guard row.isListed, kind.map({ $0 == row.kind }) ?? true, isMuted.map({ $0 == row.mutesPushes }) ?? true else {
            return false
        }
        return !isUnread || row.mayHaveUnreadMessages || row.isMarkedUnread
    }
}

extension ConversationHead {
    /// Whether the conversation has something unread or is marked as unread.
    var hasUnread: Bool { unread > 0 || mentions > 0 || isMarkedUnread }
}
