package import ScrollbackModel

extension Engine {
    /// Passes on that somebody writes something, to whoever hears the conversation.
    ///
    /// Not to their own devices, and not to who has blocked them. Nothing of it is stored.
    ///
    /// - Throws: what a message there would be refused with.
    package func signalTyping(in id: ConversationID, isTyping: Bool, by caller: Caller) throws {
        let name = id.log.absolute(for: caller.user)
        let deaf: Set<UserID>? = try store.read { store in
            try store.checkIsNotBlocked(caller, in: name)
            let row = try store.conversation(name)
            // Nobody hears a conversation that its first message will make.
            if row?.isDeleted ?? true, name.kind.traits.isImplicit, name.namedUsers.contains(caller.user) { return nil }
            let access = try access(to: name, for: caller, in: store)
            guard permissions[.send, name.kind].isMet(by: access.role, isAdmin: caller.isAdmin) else {
                throw ChatError(.forbidden, "sending to \(id) takes more than you are there")
            }
            let community = name.isCommunityItself ? nil : try name.community.flatMap { try store.conversation($0) }
            try store.checkMayWrite(
                caller, in: access.conversation, role: access.role, community: community, now: clock())
            return Set(try store.blockers(of: caller.user, limit: Self.mostBlockers)).union([caller.user])
        }
        if let deaf { hub.tellTyping(in: name, of: caller.user, isTyping: isTyping, except: deaf, now: clock()) }
    }

    /// Of so many who blocked somebody it is known that they don't want to hear of their typing.
    private static let mostBlockers = 10_000
}
