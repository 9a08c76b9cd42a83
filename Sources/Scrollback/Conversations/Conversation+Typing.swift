public import ScrollbackModel

extension Conversation {
    /// Signals to other members that the user is typing, or has stopped.
    ///
    /// Call it for each keystroke. The client sends a signal immediately, and then every 3 seconds while typing
    /// continues. Typing ends 5 seconds after the last call, or when a message is sent. While offline the call has no
    /// effect. Signals are never stored.
    public func setTyping(_ isTyping: Bool) {
        core.mailbox.post(.typing(id, isTyping))
    }

    /// The users who are typing in this conversation, in the order they started; never this user.
    ///
    /// A user is removed 6 seconds after their last signal, or when a message from them arrives. In large conversations
    /// the server forwards only a few signals a second.
    public var typing: StateSequence<[UserID]> { core.typing.source(of: id).sequence }
}
