package import Foundation
package import ScrollbackModel

/// Read operations for incoming webhooks.
package protocol IncomingWebhookReader {
    func incomingWebhook(_ id: Identifier) throws -> IncomingWebhookRow?
    /// Returns the webhooks that post as a user, or all if `user` is `nil`, ordered by ID.
    func incomingWebhooks(of user: UserID?, after id: Identifier?, limit: Int) throws -> [IncomingWebhookRow]
}

/// Write operations for incoming webhooks.
package protocol IncomingWebhookWriter {
    /// Stores a webhook, and replaces the one with the same ID.
    func put(_ row: IncomingWebhookRow) throws
    func dropIncomingWebhook(_ id: Identifier) throws
    /// Deletes the webhooks of all users that post to a conversation.
    ///
    /// - Parameter conversation: The conversation's name from the users' point of view.
    func dropIncomingWebhooks(to conversation: ConversationID) throws
}

/// A URL through which another program posts messages to a conversation.
package struct IncomingWebhookRow: Hashable, Sendable {
    package var id: Identifier
    /// The conversation, named from the user's point of view.
    package var conversation: ConversationID
    /// The sender of the messages.
    package var user: UserID
    /// The SHA-256 hash of the secret, which itself is not stored.
    package var secretHash: [UInt8]
    package var createdAt: Date

    package init(
        id: Identifier, conversation: ConversationID, user: UserID, secretHash: [UInt8], createdAt: Date
    ) {
        self.id = id
        self.conversation = conversation
        self.user = user
        self.secretHash = secretHash
        self.createdAt = createdAt
    }
}
