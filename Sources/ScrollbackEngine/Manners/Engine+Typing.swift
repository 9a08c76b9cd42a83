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
            // Nobody hears a conversation that its first message will make.
            guard try checkMaySend(in: name, by: caller, store) != nil else { return nil }
            return Set(try store.blockers(of: caller.user, limit: Self.mostBlockers)).union([caller.user])
        }
        if let deaf { hub.tellTyping(in: name, of: caller.user, isTyping: isTyping, except: deaf, now: clock()) }
    }

    /// Of so many who blocked somebody it is known that they don't want to hear of them.
    static let mostBlockers = 10_000
}
