import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// One conversation, as this client's user sees it.
public struct Conversation: Sendable, Identifiable {
    /// The name the user knows it by; of a community without a channel, that of its default channel.
    public let id: ConversationID
    let core: ClientCore

    // MARK: Read state

    /// Marks the conversation as read, on every device of the user.
    ///
    /// - Parameter id: the newest message that was shown; by default the newest there is.
    /// - Throws: `unknown-message` when the message is not on this device; `invalid-parameter` for a room, which has no read
    ///   state; `local-storage`.
    public func markRead(upTo id: MessageID? = nil) async throws(ChatError) {
        try self.id.checkHasRecents()
        let conversation = self.id
        let changed = try await core.store.write(reading: .one(conversation)) { writer in
            var seq: Seq?
            if let id {
                guard let message = try writer.reader.message(id, in: conversation) else {
                    throw ChatError(.unknownMessage, "message \(id) is not on this device", parameter: "upTo")
                }
                seq = message.seq
            }
            return try writer.markRead(conversation, upTo: seq)
        }
        guard changed else { return }
        core.changes.changed([conversation])
        core.mailbox.post(.stateSet)
    }

    /// The conversation's entry in the list of recents, if it has one.
    public func recent() async throws(ChatError) -> RecentConversation? {
        try await core.store.read { [id] in try $0.recent(id) }
    }
}
