public import ScrollbackModel

extension Conversation {
    /// Tells the others that the user is writing something, or has stopped.
    ///
    /// Call it with every key: the server is told at once, then every 3 seconds while typing goes on, and that it ended by
    /// itself 5 seconds after the last call. A message that is sent ends it too. Offline it does nothing, and nothing of it
    /// is stored.
    public func setTyping(_ isTyping: Bool) {
        core.mailbox.post(.typing(id, isTyping))
    }

    /// Who is writing something here now, first who began first; never this user.
    ///
    /// Somebody who was not heard of again for 6 seconds has stopped, and so has whose message came. In a crowd the server
    /// passes on a few signals a second only.
    public var typing: StateSequence<[UserID]> { core.typing.source(of: id).sequence }
}
