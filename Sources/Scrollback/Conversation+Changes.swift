public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

// Changes to messages that were sent before. Each call returns once the change is stored durably on this device, which
// shows it immediately. The outbox then sends changes in order, across restarts. The returned handle reports whether
// the server accepted the change.

extension Conversation {
    /// Edits a message.
    ///
    /// If the message itself is still unsent, the client replaces its content before it is sent. Otherwise the client
    /// queues the edit.
    ///
    /// - Parameters:
    ///   - id: The message.
    ///   - content: The new content, of the same type as the message.
    ///   - mentions: The new mentions.
    ///   - metadata: The new application-defined JSON object.
    ///   - customType: The new application-defined type to filter by.
    /// - Throws: `invalid-parameter` or `too-large` if the edit is invalid. `local-storage`. The server can still
    ///   reject the edit: `forbidden`, `unknown-message`, or `conflict` for a deleted message.
    @discardableResult
    public func edit(
        _ id: MessageID, to content: MessageContent, mentioning mentions: MessageEdit.Change<Mentions> = .keep,
        metadata: MessageEdit.Change<RawJSON> = .keep, customType: MessageEdit.Change<String> = .keep
    ) async throws(ChatError) -> SendHandle {
        let edit = MessageEdit(content, mentions: mentions, metadata: metadata, customType: customType)
        let operation = newID()
        try EditMessage(conversation: self.id, id: id, edit: edit, operation: operation).validate()
        let messageEncryption = core.store.messageEncryption
        let isReplaced = try await core.store.write { [name = self.id] writer -> Bool in
            // A message that can't be decrypted here can't be encrypted again: queue the edit instead.
            guard let pending = try writer.reader.pending(id), pending.decryptionError == nil else { return false }
            var submission = pending.submission
            guard submission.content.type == content.type else {
                throw ChatError.invalidParameter(
                    "content", "must be of type \(submission.content.type), because an edit can't change the type")
            }
            submission.content = content
            // An editor that loaded the content before its files were uploaded has the planned locations: replace them
            // with the actual ones.
            for upload in try writer.reader.uploads(of: id) {
                guard let url = upload.url else { continue }
                submission.content = submission.content.replacingFile(upload.media, with: .remote(url))
            }
            submission.attributes = edit.applied(to: submission.attributes)
            return try writer.replace(messageEncryption.seal(submission, to: name))
        }
        if isReplaced {
            core.changes.changed([self.id])
            return SendHandle(id: id, conversation: self.id, core: core)
        }
        // A message that is not stored on this device is taken for the user's own.
        let sender = try await core.store.read { [name = self.id] in try $0.asStored.message(id, in: name)?.sender }
        let sealed = try messageEncryption.seal(edit, of: id, by: sender ?? core.user, in: self.id)
        let request = EditMessage(conversation: self.id, id: id, edit: sealed, operation: operation)
        return try await queue(.edit(request), operation, about: id)
    }

    /// Recalls the user's own message for everyone.
    ///
    /// A tombstone stays at its sequence number.
    ///
    /// A message that was never transmitted is removed from the outbox and not sent at all.
    ///
    /// - Throws: `local-storage`. The server can still reject the recall: `forbidden` or `unknown-message`.
    @discardableResult
    public func recall(_ id: MessageID) async throws(ChatError) -> SendHandle {
        try await delete([id], for: .everyone)
    }

    /// The users for which messages are deleted.
    public enum Audience: Hashable, Sendable {
        /// Everyone.
        ///
        /// Tombstones stay.
        ///
        /// Deleting messages of other users requires the moderator role, or the administrator role in direct
        /// conversations and rooms.
        case everyone
        /// Only this user, on all of their devices.
        case me
    }

    /// Deletes 1...100 messages; messages that don't exist are skipped.
    ///
    /// - Throws: `invalid-parameter` if `ids` is empty or has more than 100 elements. `local-storage`. The server can
    ///   still reject the deletion.
    @discardableResult
    public func delete(_ ids: [MessageID], for audience: Audience) async throws(ChatError) -> SendHandle {
        guard (1...100).contains(ids.count) else {
            throw .invalidParameter("ids", "must contain 1...100 message IDs", limit: 100)
        }
        if audience == .everyone, ids.count == 1, try await cancelUnsent(ids[0]) {
            return SendHandle(id: ids[0], conversation: id, core: core)
        }
        let request = DeleteMessages(conversation: id, ids: ids, audience: audience == .me ? .me : .everyone)
        return try await queue(
            .delete(request), newID(), about: ids[0], hiding: audience == .me ? .messages(ids) : nil)
    }

    /// Deletes a message.
    ///
    /// - Throws: `local-storage`. The server can still reject the deletion.
    @discardableResult
    public func delete(_ id: MessageID, for audience: Audience) async throws(ChatError) -> SendHandle {
        try await delete([id], for: audience)
    }

    /// Hides all messages up to a message from this user, on all of their devices.
    ///
    /// Other members are not affected.
    ///
    /// - Parameter id: The newest message to hide; by default the newest message of the conversation.
    /// - Throws: `unknown-message` if the message is not stored on this device. `unknown-conversation` if the
    ///   conversation isn't. `local-storage`.
    @discardableResult
    public func clear(through id: MessageID? = nil) async throws(ChatError) -> SendHandle {
        let name = self.id
        let place = try await core.store.read { reader -> (seq: Int64, epoch: Epoch)? in
            guard let log = try reader.log(of: name) else { return nil }
            guard let id else { return (log.head, log.epoch) }
            guard let message = try reader.message(id, in: name) else {
                throw ChatError(.unknownMessage, "Message \(id) is not stored on this device.", parameter: "through")
            }
            return (message.seq, log.epoch)
        }
        guard let place else {
            throw ChatError(.unknownConversation, "The conversation is not stored on this device yet.")
        }
        let request = ClearConversation(conversation: name, seq: place.seq, epoch: place.epoch)
        return try await queue(.clear(request), newID(), about: id, hiding: .through(place.seq))
    }

    /// Deletes a range of history on the server, for everyone.
    ///
    /// The range includes `from` and excludes `to`. Pass ``HistoryPoint/earliest`` and ``HistoryPoint/latest`` to
    /// delete everything. Unlike other changes, the request is sent immediately and not queued. It requires the
    /// administrator role, unless the server's configuration permits other roles.
    ///
    /// - Returns: The number of deleted messages.
    /// - Throws: `forbidden`, also if history deletion is turned off on the server. `unknown-message` if a message of
    ///   the range doesn't exist. `invalid-parameter` if `from` is newer than `to`. `unreachable`.
    @discardableResult
    public func deleteHistory(from: HistoryPoint, to: HistoryPoint) async throws(ChatError) -> Int64 {
        let request = DeleteHistory(
            conversation: id, range: DeleteRange(from: from, to: to), operation: newID())
        return try await core.perform(request).count
    }

    // MARK: Actions

    /// Adds a reaction to a message.
    ///
    /// The server rejects a repeated reaction with `conflict`.
    ///
    /// - Parameters:
    ///   - value: An emoji, or any other text of 1...128 bytes of UTF-8.
    ///   - id: The message.
    /// - Throws: `invalid-parameter` or `local-storage`. The server can still reject the reaction.
    @discardableResult
    public func react(_ value: String, to id: MessageID) async throws(ChatError) -> SendHandle {
        try await addAction(type: MessageAction.reaction, value: value, to: id)
    }

    /// Removes the user's own reaction from a message.
    ///
    /// - Throws: `local-storage`. The server can still reject the removal: `unknown-message` if the reaction doesn't
    ///   exist.
    @discardableResult
    public func unreact(_ value: String, from id: MessageID) async throws(ChatError) -> SendHandle {
        try await removeAction(type: MessageAction.reaction, value: value, from: id)
    }

    /// Adds an action of any type to a message.
    ///
    /// - Throws: `invalid-parameter` or `local-storage`. The server can still reject the action: `conflict` if the user
    ///   already added it.
    @discardableResult
    public func addAction(type: String, value: String, to id: MessageID) async throws(ChatError) -> SendHandle {
        try MessageAction.check(type: type, value: value)
        let operation = newID()
        let request = AddAction(
            conversation: self.id, id: id, action: ActionContent(type: type, value: value), operation: operation)
        return try await queue(.addAction(request), operation, about: id)
    }

    /// Removes the user's own action from a message.
    ///
    /// - Throws: `local-storage`. The server can still reject the removal: `unknown-message` if the action doesn't
    ///   exist.
    @discardableResult
    public func removeAction(type: String, value: String, from id: MessageID) async throws(ChatError) -> SendHandle {
        try MessageAction.check(type: type, value: value)
        let operation = newID()
        let request = RemoveAction(
            conversation: self.id, id: id, action: .own(type: type, value: value), operation: operation)
        return try await queue(.removeAction(request), operation, about: id)
    }

    // MARK: The outbox

    /// The messages that a queued change hides immediately.
    private enum Hiding: Sendable {
        case messages([MessageID])
        case through(Int64)
    }

    private func newID() -> MessageID { core.newID() }

    private func queue(
        _ request: OutboxRequest, _ operation: MessageID, about message: MessageID?, hiding: Hiding? = nil
    ) async throws(ChatError) -> SendHandle {
        try await core.queue(request, operation, about: message, in: id) { [id] writer in
            if let hiding { try Self.hide(hiding, in: id, writer) }
        }
    }

    private static func hide(_ hiding: Hiding, in id: ConversationID, _ writer: LocalWriter) throws {
        guard let log = try writer.reader.log(of: id) else { return }
        let places: [ClosedRange<Int64>] =
            switch hiding {
            case .messages(let ids):
                try ids.compactMap { try writer.reader.message($0, in: id)?.seq }.map { $0...$0 }
            case .through(let seq): seq >= 1 ? [1...seq] : []
            }
        if !places.isEmpty { _ = try writer.apply([.live(.hidden(id, log.epoch, places))]) }
    }

    /// Cancels a message that was never transmitted.
    ///
    /// - Returns: Whether the message was cancelled.
    private func cancelUnsent(_ id: MessageID) async throws(ChatError) -> Bool {
        let isUnsent = try await core.store.read { try $0.isUnsent(id) }
        guard isUnsent, case .cancelled = try await core.ask({ ClientCore.Input.cancel(id, $0) }) else { return false }
        core.changes.changed([self.id])
        return true
    }
}
