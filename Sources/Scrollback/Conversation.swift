import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// A conversation as the client's user sees it.
public struct Conversation: Sendable, Identifiable {
    /// The conversation's ID from the user's point of view; for a community without a channel, the ID of its default
    /// channel.
    public let id: ConversationID
    package let core: ClientCore
    /// The user of the client.
    package var user: UserID { core.user }

    // MARK: Read state

    /// Marks the conversation as read, on all devices of the user.
    ///
    /// - Parameter id: The newest message that was shown; by default the newest message of the conversation.
    /// - Throws: `unknown-message` if the message is not stored on this device. `invalid-parameter` for a chat room,
    ///   which has no read state. `local-storage`.
    public func markRead(upTo id: MessageID? = nil) async throws(ChatError) {
        try self.id.checkHasRecents()
        let conversation = self.id
        let changed = try await core.store.write(reading: .one(conversation)) { writer in
            var seq: Seq?
            if let id {
                guard let message = try writer.reader.message(id, in: conversation) else {
                    throw ChatError(.unknownMessage, "Message \(id) is not stored on this device.", parameter: "upTo")
                }
                seq = message.seq
            }
            return try writer.markRead(conversation, upTo: seq)
        }
        guard changed else { return }
        core.changes.changed([conversation])
        core.mailbox.post(.settingChanged)
    }

    /// Returns the conversation's entry in the list of recent conversations, or `nil` if it has none.
    ///
    /// - Throws: `local-storage`.
    public func recent() async throws(ChatError) -> RecentConversation? {
        try await core.store.read { [id] in try $0.recent(id) }
    }
}
