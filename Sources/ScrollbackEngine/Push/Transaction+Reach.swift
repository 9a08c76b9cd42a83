import ScrollbackModel

// Who would be reached by push where: an index, kept as what it is made from changes, so that no message walks the members.

extension Transaction {
    /// Writes down anew which messages of one conversation reach somebody.
    func updateReach(of member: MemberRow) throws {
        // Who has no device is not in it.
        guard let person = try store.pushPerson(member.user), person.deviceCount > 0,
            let row = try store.conversation(numbered: member.conversation),
            // The two of a direct conversation are found by its name.
            row.id.kind.traits.membership != .named
        else { return }
        try store.putReach(Self.reach(of: member, row, person), of: member.user, in: member.conversation)
    }

    /// Writes down anew what reaches somebody everywhere: their first device came, their last one went, or they changed what
    /// they want.
    func updateReach(of user: UserID) throws {
        try flush()
        let person = try store.pushPerson(user)
        for member in try store.memberships(of: user) {
            guard let row = try store.conversation(numbered: member.conversation),
                row.id.kind.traits.membership != .named
            else { continue }
            try store.putReach(Self.reach(of: member, row, person), of: user, in: member.conversation)
        }
    }

    private static func reach(
        of member: MemberRow, _ row: ConversationRow, _ person: PushPersonRow?
    ) -> NotificationLevel {
        guard let person, person.deviceCount > 0, !row.isDeleted else { return .none }
        switch member.standing {
        case .left: return .none
        case .member:
            return person.preferences.standingLevel(own: member.level, isMuted: member.isMuted, kind: row.id.kind)
        // A member by the community's list: what reaches them there is said here only where they said something.
        case .reader: return member.isMuted ? .none : member.level ?? .none
        }
    }
}
