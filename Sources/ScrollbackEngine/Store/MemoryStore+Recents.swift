import ScrollbackModel

/// The summary rows for the list of recents and for `sync`.
extension MemoryRows {
    func membershipSummaries(of user: UserID, committedAfter lastCommit: Int64, changedAbove rev: Int64)
        -> [MembershipSummary]
    {
        membershipSummaries(of: user).filter { $0.lastCommit > lastCommit || $0.userRev > rev || $0.isCommunityRoot }
    }

    private func membershipSummaries(of user: UserID) -> [MembershipSummary] {
        memberships(of: user).compactMap { member in
            conversations[member.conversation].map { MembershipSummary(of: $0, member) }
        }
    }

    func listed(of user: UserID, _ filter: RecentsListFilter) -> [ListedRow] {
        membershipSummaries(of: user).compactMap { row in
            let isListed =
                row.kind == .community
                ? row.isCommunityRoot && filter.kind ?? .community == .community : filter.mayMatch(row)
            guard isListed else { return nil }
            return ListedRow(place: row.place, isMember: row.isMember, isCommunityRoot: row.isCommunityRoot)
        }
    }

    func unreadAdjustments(of user: UserID) -> [Int64: UnreadAdjustment] {
        var counts: [Int64: UnreadAdjustment] = [:]
        for row in membershipSummaries(of: user)
        where row.isMember && row.kind != .community && row.head > row.readPosition {
            var count = UnreadAdjustment(
                isMentioned: !mentions(of: user, in: row.number, above: row.readPosition).isEmpty)
            let wanted = BitBlock.index(of: row.baseCountedIndex + 1)...Int64.max
            for set in [BitSet.removed, .uncounted(user)] {
                for block in bits(set, of: row.number, blocks: wanted) { count.add(block) }
            }
            if count != UnreadAdjustment() { counts[row.number] = count }
        }
        return counts
    }

    func channelSummaries(of user: UserID, in community: Identifier) -> [MembershipSummary] {
        channels(of: community, after: nil, limit: .max).map { MembershipSummary(of: $0, member(user, of: $0.number)) }
    }
}
