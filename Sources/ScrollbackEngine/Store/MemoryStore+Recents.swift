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

    func recentsCandidates(of user: UserID, _ filter: RecentsListFilter) -> [RecentsCandidate] {
        membershipSummaries(of: user).filter { $0.isCommunityRoot || $0.kind != .community && filter.mayMatch($0) }
            .map {
                RecentsCandidate(
                    position: $0.recentsPosition, isMember: $0.isMember, isCommunityRoot: $0.isCommunityRoot)
            }
    }

    func unreadAdjustments(of user: UserID) -> [Int64: UnreadAdjustment] {
        var adjustments: [Int64: UnreadAdjustment] = [:]
        for number in memberships(of: user).map(\.conversation) {
            var adjustment = UnreadAdjustment(mayBeMentioned: !mentions(of: user, in: number, above: 0).isEmpty)
            for set in [BitSet.removed, .uncounted(user)] {
                for block in bits(set, of: number, blocks: 0...Int64.max) { adjustment.add(block) }
            }
            adjustments[number] = adjustment
        }
        return adjustments
    }

    func channelSummaries(of user: UserID, in community: Int64) -> [MembershipSummary] {
        guard let row = conversations[community] else { return [] }
        return channels(of: row.id.target, after: nil, limit: .max).map {
            MembershipSummary(of: $0, member(user, of: $0.number))
        }
    }
}
