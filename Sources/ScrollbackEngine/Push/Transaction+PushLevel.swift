import ScrollbackModel

// An index of which users receive pushes for a conversation's messages. It is updated with its sources, so that a
// message need not visit all members.

extension Transaction {
    /// Updates the index for one member of one conversation.
    func updatePushLevel(of member: MemberRow) throws {
        // Users without devices are not in the index.
        guard let person = try store.pushUser(member.user), person.deviceCount > 0,
            let row = try store.conversation(numbered: member.conversation),
            // The users of a direct conversation are found by its name.
            row.id.kind.traits.membership != .named
        else { return }
        try store.putPushLevel(Self.pushLevel(of: member, row, person), of: member.user, in: member.conversation)
    }

    /// Updates the index for a user in all conversations.
    ///
    /// This is necessary after their first device was added, their last one was removed, or their preferences changed.
    func updatePushLevel(of user: UserID) throws {
        try flush()
        let person = try store.pushUser(user)
        for member in try store.memberships(of: user) {
            guard let row = try store.conversation(numbered: member.conversation),
                row.id.kind.traits.membership != .named
            else { continue }
            try store.putPushLevel(Self.pushLevel(of: member, row, person), of: user, in: member.conversation)
        }
    }

    private static func pushLevel(
        of member: MemberRow, _ row: ConversationRow, _ person: PushUserRow?
    ) -> NotificationLevel {
        guard let person, person.deviceCount > 0, !row.isDeleted else { return .none }
        switch member.standing {
        case .left: return .none
        case .member:
            return person.preferences.baseLevel(own: member.level, isMuted: member.mutesPushes, kind: row.id.kind)
        // Members of a public channel are in the index of the community; in the channel's only if they changed its
        // level.
        case .reader: return member.mutesPushes ? .none : member.level ?? .none
        }
    }
}
