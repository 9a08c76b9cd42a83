import ScrollbackModel

extension Transaction {
    /// Mutes somebody in a conversation, or (nil) lets them write again; whoever asks for it was seen to be allowed to.
    ///
    /// A mute stays when they leave and come back.
    func putMute(_ mute: Mute?, of user: UserID, in id: ConversationID, by caller: Caller) throws {
        guard var row = try conversation(id) else { throw Access.unknown(id) }
        let isNews = try store.mute(of: user, in: row.number) != mute
        try store.put(mute, of: user, in: row.number)
        if mute != nil { try signGuestbook(of: row.number, as: user) }
        if mute != nil, !row.hasMutes {
            row.hasMutes = true
            try put(row, isNews: false)
        }
        publish(.standingChanged(id, user))
        guard isNews else { return }
        try note(
            Notice(mute == nil ? .memberUnmuted : .memberMuted, user: user, mute: mute), in: id, by: caller.user)
    }

    /// Whether somebody may mute another: in a room anybody, elsewhere members, of a public channel its community's.
    ///
    /// Nobody mutes themselves, and so nobody lifts a mute of their own, but administrators.
    ///
    /// - Parameter joins: whether they are about to be put in, if they are not there.
    /// - Throws: `unknown-conversation`, `unknown-member`, `forbidden`.
    func checkMayMute(
        _ user: UserID, in id: ConversationID, by caller: Caller, permissions: Permissions, joins: Bool = false
    ) throws {
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        let callerRole = try role(of: caller.user, in: row)
        guard permissions[.mute, id.kind].isMet(by: callerRole, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "muting somebody in \(id) takes more than you are there")
        }
        let known = try role(of: user, in: row)
        guard joins || known != nil || id.kind.traits.membership == .subscribers else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(id)", parameter: "user")
        }
        guard caller.isAdmin || user != caller.user && known ?? .member <= callerRole ?? .member else {
            throw ChatError(.forbidden, "muting \(user) in \(id) takes more than you are there")
        }
    }
}
