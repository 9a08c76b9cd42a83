/// The sequence number through which a device has stored the messages of one conversation.
package struct DeliveryMark: Hashable, Sendable {
    package var conversation: ConversationID
    package var position: EpochPosition

    package init(conversation: ConversationID, position: EpochPosition) {
        self.conversation = conversation
        self.position = position
    }
}

/// The result for one of several delivery marks.
package struct DeliveryResult: Sendable {
    package var conversation: ConversationID
    /// Why the server refused the mark; `nil` if it accepted the mark.
    package var error: ChatError?

    package init(conversation: ConversationID, error: ChatError? = nil) {
        self.conversation = conversation
        self.error = error
    }
}
