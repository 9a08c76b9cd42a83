package import ScrollbackModel

/// The conversation, the user and the messages that a request concerns.
///
/// A store on another machine reads their rows ahead, in one round trip for all requests of a batch. See
/// ``ExpectedReads``. A footprint affects the speed of a request, and never its result.
package struct Footprint: Hashable, Sendable {
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var user: UserID
    package var messages: [MessageID]
    /// Whether the request depends on what the user can see (``Access``).
    package var needsAccess: Bool
    /// Whether the request depends on the times at which the user was a member; included in ``needsAccess``.
    package var needsSpans = false
    /// Whether the request returns the user's head of the conversation.
    package var needsHead = false
    /// The sequence number that the request reports as read or delivered, if it does.
    package var readsThrough: Seq?
    /// Whether the request depends on the number of members, up to ``ReceiptRow/maximumMembers``.
    package var countsMembers = false
    /// The idempotency ID of a change.
    package var operation: MessageID?
    /// Whether an action of the user is added to or removed from the first of `messages`.
    package var changesActions = false
    /// The message that a sent message replies to, and the users that the sent message mentions.
    package var reply: Reply?
    /// The content of a sent message, which can refer to files.
    package var content: MessageContent?

    package struct Reply: Hashable, Sendable {
        package var message: MessageID
        package var mentions: [UserID]

        package init(to message: MessageID, mentions: [UserID]) {
            self.message = message
            self.mentions = mentions
        }
    }

    package init(
        _ conversation: ConversationID, _ user: UserID, messages: [MessageID] = [], needsAccess: Bool = false,
        readsThrough: Seq? = nil
    ) {
        self.conversation = conversation
        self.user = user
        self.messages = messages
        self.needsAccess = needsAccess
        self.readsThrough = readsThrough
    }
}
