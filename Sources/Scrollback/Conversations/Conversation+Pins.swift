public import ScrollbackModel
import ScrollbackWire

// Pinned messages and votes in polls. They are actions of the messages: each call returns once the change is stored on
// this device, which shows it immediately, and the outbox sends it.

extension Conversation {
    /// Pins a message for everyone in the conversation.
    ///
    /// In communities and rooms this requires the moderator role. A conversation has at most 100 pinned messages.
    ///
    /// - Throws: `local-storage`. The server can still refuse it: `forbidden`, `unknown-message`, or `conflict` if the
    ///   message is pinned or deleted, or the conversation has 100 pinned messages.
    @discardableResult
    public func pin(_ id: MessageID) async throws(ChatError) -> SendHandle {
        try await addAction(type: MessageAction.pin, value: MessageAction.pin, to: id)
    }

    /// Unpins a message, also one that another user pinned.
    ///
    /// - Throws: `local-storage`. The server can still refuse it: `forbidden`, or `unknown-message` if the message is
    ///   not pinned.
    @discardableResult
    public func unpin(_ id: MessageID) async throws(ChatError) -> SendHandle {
        try await removeAction(type: MessageAction.pin, value: MessageAction.pin, from: id)
    }

    /// Returns the pinned messages, newest first.
    ///
    /// - Returns: The server's list, with the changes that are not sent yet. Without a connection, the pinned messages
    ///   that are stored on this device, and the error.
    /// - Throws: `local-storage`.
    public func pinnedMessages() async throws(ChatError) -> PinnedMessages {
        do {
            var found: [Message] = []
            var next: Int64?
            var rev: Int64?
            repeat {
                let page = try await core.perform(
                    ListPins(conversation: id, below: next, limit: Limits.standard.pageSize))
                found += page.messages
                rev = rev ?? page.rev
                next = page.next
            } while next != nil
            return PinnedMessages(messages: try await pinned(found, at: rev ?? 0))
        } catch {
            guard error.isTemporary else { throw error }
            return PinnedMessages(messages: try await pinned([], at: 0), remoteError: error)
        }
    }

    /// Returns the pinned messages of the server's list and of this device, with the queued changes.
    ///
    /// - Parameters:
    ///   - found: The server's list.
    ///   - rev: The revision of the newest change that the list includes. Newer rows of this device are used instead.
    private func pinned(_ found: [Message], at rev: Int64) async throws(ChatError) -> [Message] {
        try await core.store.read { [id, user = core.user] reader in
            var messages = Dictionary(found.map { ($0.id, $0) }) { $1 }
            for message in try reader.pinnedMessages(in: id) where message.rev > rev { messages[message.id] = message }
            let changes = try reader.pendingChanges(in: id)
            for case .addAction(let change) in changes where messages[change.id] == nil {
                messages[change.id] = try reader.asStored.message(change.id, in: id)
            }
            return try messages.values.map { message in
                let stored = try reader.asStored.message(message.id, in: id)
                let newest = stored.flatMap { $0.rev > message.rev ? $0 : nil } ?? message
                return reader.decrypted(newest.applying(changes, by: user))
            }.filter(\.isPinned).sorted { $0.seq > $1.seq }
        }
    }
}

/// The pinned messages of a conversation.
public struct PinnedMessages: Sendable {
    /// The messages, newest first.
    public var messages: [Message]
    /// The error that prevented loading the server's list; the messages are then those that are stored on this device.
    public var remoteError: ChatError?
}

extension Conversation {
    /// Votes for an option of a poll.
    ///
    /// A vote replaces the user's earlier one, unless the poll allows several votes.
    ///
    /// - Parameters:
    ///   - option: The index of the option, see ``ScrollbackModel/PollResult/id``.
    ///   - id: The message with the poll.
    /// - Throws: `invalid-parameter` for a negative index. `local-storage`. The server can still refuse the vote.
    ///   `invalid-parameter` if the poll has no such option. `conflict` if it is closed or the user voted for the
    ///   option already.
    @discardableResult
    public func vote(for option: Int, in id: MessageID) async throws(ChatError) -> SendHandle {
        try await addAction(type: MessageAction.vote, value: Self.value(of: option), to: id)
    }

    /// Withdraws a vote.
    ///
    /// - Throws: `invalid-parameter` for a negative index. `local-storage`. The server can still refuse it: `conflict`
    ///   if the poll is closed, or `unknown-message` if the user did not vote for the option.
    @discardableResult
    public func withdrawVote(for option: Int, in id: MessageID) async throws(ChatError) -> SendHandle {
        try await removeAction(type: MessageAction.vote, value: Self.value(of: option), from: id)
    }

    /// Closes the user's own poll, so that votes are final.
    ///
    /// - Throws: `unknown-message` if the message is not stored on this device. `invalid-parameter` if it is no poll.
    ///   `local-storage`. The server can still refuse it with `forbidden`.
    @discardableResult
    public func closePoll(_ id: MessageID) async throws(ChatError) -> SendHandle {
        guard let message = try await core.store.read({ [name = self.id] in try $0.message(id, in: name) }) else {
            throw ChatError(.unknownMessage, "Message \(id) is not stored on this device.", parameter: "id")
        }
        guard var poll = message.content?.poll else { throw .invalidParameter("id", "must be a message with a poll") }
        poll.isClosed = true
        return try await edit(id, to: .poll(poll))
    }

    private static func value(of option: Int) throws(ChatError) -> String {
        guard option >= 0 else { throw .invalidParameter("option", "must be the index of an option, 0 or above") }
        return String(option)
    }
}
