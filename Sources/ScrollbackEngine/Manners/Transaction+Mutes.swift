import ScrollbackModel

extension Transaction {
    /// Mutes somebody in a conversation, or (nil) lets them write again.
    ///
    /// In a room and a public channel anybody can be muted, elsewhere members. A mute stays when they leave and come back.
    ///
    /// - Throws: `unknown-conversation`, `unknown-member`, `forbidden`.
    func putMute(
        _ mute: Mute?, of user: UserID, in id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws {
        let row = try checkMayMute(user, in: id, by: caller, permissions: permissions)
        try store.put(mute, of: user, in: row.number)
        publish(.standingChanged(id, user))
    }

    /// - Parameter joins: whether they are about to be put in, if they are not there.
    /// - Returns: the conversation.
    @discardableResult
    func checkMayMute(
        _ user: UserID, in id: ConversationID, by caller: Caller, permissions: Permissions, joins: Bool = false
    ) throws -> ConversationRow {
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        let callerRole = try role(of: caller.user, in: row)
        guard permissions[.mute, id.kind].isMet(by: callerRole, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "muting somebody in \(id) takes more than you are there")
        }
        let known = try role(of: user, in: row)
        guard joins || known != nil || id.kind.traits.membership == .subscribers else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(id)", parameter: "user")
        }
        guard caller.isAdmin || known ?? .member <= callerRole ?? .member else {
            throw ChatError(.forbidden, "muting \(user) in \(id) takes more than you are there")
        }
        return row
    }
}
