import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// One conversation, as this client's user sees it.
public struct Conversation: Sendable, Identifiable {
    /// The name the user knows it by; of a community without a channel, that of its default channel.
    public let id: ConversationID
    let core: ClientCore

    // MARK: Sending

    /// Sends a message.
    ///
    /// Returns once it is safe on this device; the rest happens by itself, across restarts. ``Sending/states`` tells
    /// what became of it: the server may refuse it still, for example because the user is not a member.
    ///
    /// - Parameter priority: whether a room streams it when there is more than it can; elsewhere it says nothing.
    /// - Throws: `invalid-parameter` or `too-large` when it can't be sent as it is; `local-storage`.
    @discardableResult
    public func send(
        _ content: MessageContent, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil,
        metadata: RawJSON? = nil, customType: String? = nil, traits: MessageTraits = .init(),
        priority: MessagePriority = .normal
    ) async throws(ChatError) -> Sending {
        var generator = SystemRandomNumberGenerator()
        let submission = try Submission(
            id: MessageID(at: core.clock(), using: &generator), content: content,
            attributes: MessageAttributes(
                mentions: mentions, metadata: metadata, customType: customType, replyTo: replyTo, traits: traits,
                priority: priority)
        ).validated(limits: .standard)
        let now = core.clock()
        let item = try await core.store.write { [id] in try $0.insert(submission, to: id, now: now) }
        core.changes.changed([id])
        core.mailbox.post(.queued(item))
        return Sending(id: submission.id, conversation: id, core: core)
    }

    /// A message that is being sent, found again after a restart; one that was sent long ago is done at once.
    public func sending(_ id: MessageID) -> Sending {
        Sending(id: id, conversation: self.id, core: core)
    }

    // MARK: Read state

    /// Marks the conversation as read, on every device of the user.
    ///
    /// - Parameter id: the newest message that was shown; by default the newest there is.
    /// - Throws: `unknown-message` when the message is not on this device; `local-storage`.
    public func markRead(upTo id: MessageID? = nil) async throws(ChatError) {
        let conversation = self.id
        let changed = try await core.store.write { writer in
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
        core.mailbox.post(.readMarked)
    }

    /// The conversation's entry in the list of recents, if it has one.
    public func recent() async throws(ChatError) -> RecentConversation? {
        try await core.store.read { [id] in try $0.recent(id) }
    }
}
