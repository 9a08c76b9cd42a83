import ScrollbackModel

/// The summary rows for the list of recents and for `sync`.
extension MemoryRows {
    func involvements(of user: UserID, movedAbove moved: Int64, changedAbove rev: Int64) -> [InvolvementRow] {
        involvements(of: user).filter { $0.moved > moved || $0.userRev > rev || $0.isCommunityItself }
    }

    private func involvements(of user: UserID) -> [InvolvementRow] {
        memberships(of: user).compactMap { member in
            conversations[member.conversation].map { InvolvementRow(of: $0, member) }
        }
    }

    func listed(of user: UserID, _ filter: ListFilter) -> [ListedRow] {
        involvements(of: user).compactMap { row in
            let isListed =
                row.kind == .community
                ? row.isCommunityItself && filter.kind ?? .community == .community : filter.mayTake(row)
            guard isListed else { return nil }
            return ListedRow(place: row.place, isMember: row.isMember, isCommunityItself: row.isCommunityItself)
        }
    }

    func unevenCounts(of user: UserID) -> [Int64: UnevenCount] {
        var counts: [Int64: UnevenCount] = [:]
        for row in involvements(of: user) where row.isMember && row.kind != .community && row.head > row.position {
            var count = UnevenCount(isMentioned: !mentions(of: user, in: row.number, above: row.position).isEmpty)
            let wanted = BitBlock.index(of: row.baseN + 1)...Int64.max
            for set in [BitSet.removed, .uncounted(user)] {
                for block in bits(set, of: row.number, blocks: wanted) { count.add(block) }
            }
            if count != UnevenCount() { counts[row.number] = count }
        }
        return counts
    }

    func channelInvolvements(of user: UserID, in community: Identifier) -> [InvolvementRow] {
        channels(of: community, after: nil, limit: .max).map { InvolvementRow(of: $0, member(user, of: $0.number)) }
    }
}
