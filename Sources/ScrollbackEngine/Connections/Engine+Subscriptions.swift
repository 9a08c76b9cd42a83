package import ScrollbackModel
import ScrollbackWire

extension Engine {
    /// Returns the conversations whose messages a connection of the caller receives without subscribing.
    ///
    /// These are conversations that stream to their members, private channels, and communities, whose members are
    /// notified of channels with new messages.
    ///
    /// - Returns: Each conversation with the sequence number above which the caller sees every message.
    package func automaticSubscriptions(of caller: Caller) throws -> [ConversationID: Seq] {
        try store.read { store in
            var ids: [ConversationID: Seq] = [:]
            for member in try store.memberships(of: caller.user) where member.standing == .member {
                guard let row = try store.conversation(numbered: member.conversation), !row.isDeleted,
                    permissions[.read, row.id.kind].isMet(by: member.role, isAdmin: caller.isAdmin)
                else { continue }
                ids[row.id] = try store.fullyVisibleAfter(member, in: row)
            }
            return ids
        }
    }
}
