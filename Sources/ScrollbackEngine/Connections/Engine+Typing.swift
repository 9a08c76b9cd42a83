package import ScrollbackModel

extension Engine {
    /// Sends a typing indicator to the subscribers of a conversation.
    ///
    /// The caller's own devices and users who have blocked the caller don't receive it. Nothing is stored.
    ///
    /// - Throws: The error that sending a message to the conversation would throw.
    package func signalTyping(in id: ConversationID, isTyping: Bool, by caller: Caller) throws {
        let name = id.logID.absolute(for: caller.user)
        let excluded: Set<UserID>? = try store.read { store in
            // A direct conversation that the caller has not joined yet has no subscribers for them.
            guard let row = try store.checkMaySend(to: name, by: caller, permissions: permissions, now: clock()),
                try !store.isMissingParticipant(caller.user, in: row)
            else { return nil }
            return Set(try store.blockers(of: caller.user, limit: Self.maximumBlockers)).union([caller.user])
        }
        if let excluded {
            let isAllowed = hub.sendTypingIndicator(
                in: name, of: caller.user, isTyping: isTyping, except: excluded, now: clock())
            if isAllowed, excluded.count <= Self.maximumExcluded {
                node?.send(.typing(name, caller.user, isTyping: isTyping, excluded: excluded))
            }
        }
    }

    /// The maximum number of users whose blocks of the typing user are taken into account.
    static let maximumBlockers = 10_000
}
