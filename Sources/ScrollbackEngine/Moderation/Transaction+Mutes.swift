import ScrollbackModel

extension Transaction {
    /// Mutes a member, or unmutes the member if `mute` is `nil`.
    ///
    /// ``checkMayMute(_:in:by:permissions:joins:)`` must have succeeded. A mute persists when the user leaves and
    /// rejoins.
    func putMute(_ mute: Mute?, of user: UserID, in id: ConversationID, by caller: Caller) throws {
        guard var row = try conversation(id) else { throw Access.unknown }
        let isChanged = try store.mute(of: user, in: row.number) != mute
        try recordGrowth(Self.muteGrowth, by: caller)
        try store.put(mute, of: user, in: row.number)
        if mute != nil { try recordParticipant(in: row.number, as: user) }
        if mute != nil, !row.hasMutes {
            row.hasMutes = true
            try put(row, isClientVisible: false)
        }
        publish(.memberStateChanged(id, user))
        guard isChanged else { return }
        publish(.moderated(ModerationAct(mute == nil ? .unmute : .mute, of: user, in: id, by: caller.user)))
        try audit(mute == nil ? .unmute : .mute, by: caller, of: user, in: row)
        try writeNotice(
            Notice(mute == nil ? .memberUnmuted : .memberMuted, user: user, mute: mute), in: id, by: caller.user)
    }

    /// What a mute or its end adds to the store: a notice, and entries of the audit log and the change log.
    private static let muteGrowth = Growth(messageBytes: rowBytes)

    /// Checks that the caller may mute or unmute a user in a conversation.
    ///
    /// In a room, any user can be muted. Elsewhere only members can be muted; for a public channel, these are the
    /// community's members. Only administrators can mute or unmute themselves.
    ///
    /// - Parameter joins: Whether the same request adds the user if they are not a member.
    /// - Throws: `unknown-conversation`, `unknown-member`, `forbidden`, and the errors of
    ///   ``checkGrowth(_:by:adding:)``.
    func checkMayMute(
        _ user: UserID, in id: ConversationID, by caller: Caller, permissions: Permissions, joins: Bool = false
    ) throws {
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        let callerRole = try role(of: caller.user, in: row)
        try permissions.require(.mute, in: id, as: callerRole, by: caller, to: "mute users")
        let known = try role(of: user, in: row)
        guard joins || known != nil || id.kind.traits.membership == .subscribers else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(id).", parameter: "user")
        }
        guard caller.isAdmin || user != caller.user,
            Permissions.allows(.mute, onUserWith: known, as: callerRole, isAdmin: caller.isAdmin)
        else {
            throw ChatError(
                .forbidden, "In \(id), you can mute only other users whose role is not above yours.")
        }
        try checkGrowth(Self.muteGrowth, by: caller, adding: .protection)
    }
}
