package import ScrollbackModel

/// Which conversations of the list are asked for.
package struct ListFilter: Hashable, Sendable {
    package var kind: ConversationKind?
    package var isMuted: Bool?
    /// Only with something to read: unread messages or mentions, or marked as unread.
    package var isUnread = false

    package init(kind: ConversationKind? = nil, isMuted: Bool? = nil, isUnread: Bool = false) {
        self.kind = kind
        self.isMuted = isMuted
        self.isUnread = isUnread
    }
}

/// Conversations that are read at once: of one kind, or all.
package struct ReadScope: Hashable, Sendable {
    package var kind: ConversationKind?
    /// Messages up to and including this time; absent for all.
    package var upTo: Timetoken?

    package init(kind: ConversationKind? = nil, upTo: Timetoken? = nil) {
        self.kind = kind
        self.upTo = upTo
    }
}

extension Engine {
    /// The caller's list: pinned conversations first, then newest activity first.
    package func recents(
        _ filter: ListFilter = .init(), limit: Int, cursor: String? = nil, by caller: Caller
    ) throws -> (heads: [ConversationHead], next: String?) {
        guard (1...limits.pageSize).contains(limit) else {
            throw ChatError.invalidParameter("limit", "must be in 1...\(limits.pageSize)", limit: limits.pageSize)
        }
        let bound = try cursor.map { try RecentsPlace($0) }
        return try store.read { store in
            var heads: [ConversationHead] = []
            var last: RecentsPlace?
            var bytes = 0
            let candidates = try involvements(of: caller.user, in: store).filter { filter.mayTake($0) }
                .map { (number: $0.number, place: try place(of: $0, for: caller, in: store)) }
                .filter { candidate in bound.map { candidate.place < $0 } ?? true }
                .sorted { $0.place > $1.place }
            for (number, place) in candidates {
                if heads.count == limit || bytes >= PageRoom.answerBytes { return (heads, last?.text) }
                last = place
                guard let row = try store.conversation(numbered: number),
                    let access = try visible(row, for: caller, in: store),
                    case let head = try head(of: access, for: caller.user, in: store),
                    head.recentTime != nil, !filter.isUnread || head.isToRead
                else { continue }
                heads.append(head)
                bytes += head.weight
            }
            return (heads, nil)
        }
    }

    /// What is unread in all conversations of the caller's list.
    package func totals(by caller: Caller) throws -> UnreadTotals {
        try store.read { store in
            try totals(of: involvements(of: caller.user, in: store), for: caller, in: store)
        }
    }

    func totals(
        of involved: [InvolvementRow], for caller: Caller, in store: any StoreReader
    ) throws -> UnreadTotals {
        var totals = UnreadTotals()
        for row in involved where row.isListed && row.isMember {
            let unread = try unread(row, for: caller, in: store)
            totals.add(unread.messages, mentions: unread.mentions, kind: row.kind, isMuted: row.isMuted)
        }
        return totals
    }

    /// As ``Unread`` has it; where a conversation lists its members, without looking at more than what they did not read.
    private func unread(
        _ row: InvolvementRow, for caller: Caller, in store: any StoreReader
    ) throws -> (messages: Int64, mentions: Int64) {
        let isByCommunity = row.kind == .community
        if !isByCommunity, row.head <= row.position { return (0, 0) }
        if !isByCommunity, try store.mentions(of: caller.user, in: row.number, above: row.position).isEmpty {
            guard row.n > row.baseN else { return (0, 0) }
            let numbers = row.baseN + 1...row.n
            return (
                row.n - row.baseN - (try store.uncounted(by: caller.user, in: row.number, numbers: numbers)), 0
            )
        }
        guard let conversation = try store.conversation(numbered: row.number),
            let access = try visible(conversation, for: caller, in: store)
        else { return (0, 0) }
        let unread = try Unread(of: caller.user, access, in: store)
        return (unread.messages, unread.mentions)
    }

    /// The places up to which a scope is read, of those conversations where something is to be read.
    package func marks(_ scope: ReadScope, by caller: Caller) throws -> [ReadMark] {
        try store.read { store in
            try involvements(of: caller.user, in: store).compactMap { involved -> ReadMark? in
                guard involved.isMember, !involved.isDeleted, !involved.isCommunityItself,
                    involved.kind.traits.hasRecents, scope.kind.map({ $0 == involved.kind }) ?? true,
                    involved.head > involved.position || involved.isMarkedUnread,
                    let row = try store.conversation(numbered: involved.number)
                else { return nil }
                let seq = try scope.upTo.map { try store.place(atOrBefore: $0, in: row) } ?? row.head
                guard seq > involved.position || involved.isMarkedUnread else { return nil }
                let place = LogPlace(seq: max(0, seq), epoch: row.epoch(in: self.store.generation))
                return ReadMark(conversation: row.id.relative(to: caller.user), place: place)
            }
        }
    }

    /// Where a conversation stands in the list: who left, by the newest message they may see.
    private func place(
        of involved: InvolvementRow, for caller: Caller, in store: any StoreReader
    ) throws -> RecentsPlace {
        var place = involved.place
        if !involved.isMember, let row = try store.conversation(numbered: involved.number) {
            let newest = try visible(row, for: caller, in: store)?.visible.highest ?? 0
            place.time = try store.place(atOrBelow: newest, in: row.number)?.timetoken ?? Timetoken(rawValue: 0)
        }
        return place
    }
}

extension ListFilter {
    /// Whether a conversation may be one of those, as far as a glance tells.
    fileprivate func mayTake(_ row: InvolvementRow) -> Bool {
        guard row.isListed, kind.map({ $0 == row.kind }) ?? true, isMuted.map({ $0 == row.isMuted }) ?? true else {
            return false
        }
        return !isUnread || row.kind == .community || row.head > row.position || row.isMarkedUnread
    }
}

extension ConversationHead {
    /// Whether there is something to read, or it was marked so.
    var isToRead: Bool { unread > 0 || mentions > 0 || isMarkedUnread }
}
