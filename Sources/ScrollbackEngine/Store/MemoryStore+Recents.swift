import ScrollbackModel

/// The light rows that lists of conversations are made of.
extension MemoryRows {
    func involvements(of user: UserID) -> [InvolvementRow] {
        memberships(of: user).compactMap { member in
            conversations[member.conversation].map { InvolvementRow(of: $0, member) }
        }
    }

    func channelInvolvements(of user: UserID, in community: Identifier) -> [InvolvementRow] {
        channels(of: community, after: nil, limit: .max).map { InvolvementRow(of: $0, member(user, of: $0.number)) }
    }
}
