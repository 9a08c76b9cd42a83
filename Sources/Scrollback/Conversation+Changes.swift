public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

// What is done to messages after they were sent. Each call returns once it is safe on this device, which shows it at once;
// the rest happens by itself, in order, across restarts. What the returned value tells is whether the server took it.

extension Conversation {
    /// Gives a message other content.
    ///
    /// One that is still waiting to be sent for the first time is sent with the new content at once; else the edit follows
    /// it.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - content: of the type the message has.
    ///   - mentions: whom it calls by name from now on.
    ///   - metadata: the application's own object from now on.
    ///   - customType: the free name to filter by from now on.
    /// - Throws: `invalid-parameter` or `too-large` when it can't be asked for as it is; `local-storage`. The server may
    ///   refuse it still: `forbidden`, `unknown-message`, `conflict` for a message that was deleted.
    @discardableResult
    public func edit(
        _ id: MessageID, to content: MessageContent, mentioning mentions: MessageEdit.Change<Mentions> = .keep,
        metadata: MessageEdit.Change<RawJSON> = .keep, customType: MessageEdit.Change<String> = .keep
    ) async throws(ChatError) -> Sending {
        let edit = MessageEdit(content, mentions: mentions, metadata: metadata, customType: customType)
        let operation = newID()
        _ = try ClientRequest.edit(self.id, id, edit, operation: operation).validated()
        let sealing = core.store.sealing
        let isReplaced = try await core.store.write { [name = self.id] writer -> Bool in
            // One that can't be read here can't be encrypted anew: the edit follows it.
            guard let pending = try writer.reader.pending(id), pending.decryptionError == nil else { return false }
            var submission = pending.submission
            guard submission.content.type == content.type else {
                throw ChatError.invalidParameter(
                    "content", "must be of type \(submission.content.type): an edit keeps it")
            }
            submission.content = content
            // Whoever read what it said before its files were brought elsewhere names the places they were to have here.
            for upload in try writer.reader.uploads(of: id) {
                guard let url = upload.url else { continue }
                submission.content = submission.content.moving(upload.media, to: url)
            }
            submission.attributes = edit.applied(to: submission.attributes)
            return try writer.replace(sealing.seal(submission, to: name))
        }
        if isReplaced {
            core.changes.changed([self.id])
            return Sending(id: id, conversation: self.id, core: core)
        }
        // One that is not on this device is taken for the user's own.
        let sender = try await core.store.read { [name = self.id] in try $0.asStored.message(id, in: name)?.sender }
        let sealed = try sealing.seal(edit, of: id, by: sender ?? core.user, in: self.id)
        return try await queue(.edit(self.id, id, sealed, operation: operation), operation, about: id)
    }

    /// Takes one's own message back, for everyone: a stub stays at its place.
    ///
    /// One that is still waiting to be sent for the first time is not sent at all.
    ///
    /// - Throws: `local-storage`. The server may refuse it still: `forbidden`, `unknown-message`.
    @discardableResult
    public func recall(_ id: MessageID) async throws(ChatError) -> Sending {
        try await delete([id], for: .everyone)
    }

    /// For whom messages are deleted.
    public enum Audience: Hashable, Sendable {
        /// For everyone: one's own are recalled, others' take a moderator. Stubs stay.
        case everyone
        /// For this user alone, on all of their devices.
        case me
    }

    /// Deletes messages, 1...100; those that are not there are passed over.
    ///
    /// - Throws: `invalid-parameter` for none or more than 100; `local-storage`. The server may refuse it still.
    @discardableResult
    public func delete(_ ids: [MessageID], for audience: Audience) async throws(ChatError) -> Sending {
        guard (1...100).contains(ids.count) else {
            throw .invalidParameter("ids", "must be 1...100 message ids", limit: 100)
        }
        if audience == .everyone, ids.count == 1, try await takeBack(ids[0]) {
            return Sending(id: ids[0], conversation: id, core: core)
        }
        let request = ClientRequest.delete(id, ids, forMe: audience == .me)
        return try await queue(request, newID(), about: ids[0], hiding: audience == .me ? .messages(ids) : nil)
    }

    /// Deletes a message.
    ///
    /// - Throws: `local-storage`. The server may refuse it still.
    @discardableResult
    public func delete(_ id: MessageID, for audience: Audience) async throws(ChatError) -> Sending {
        try await delete([id], for: audience)
    }

    /// Hides everything up to a message from this user, on all of their devices; nobody else sees a difference.
    ///
    /// - Parameter id: the newest message to hide; by default the newest there is.
    /// - Throws: `unknown-message` when the message is not on this device; `local-storage`.
    @discardableResult
    public func clear(through id: MessageID? = nil) async throws(ChatError) -> Sending {
        let name = self.id
        let place = try await core.store.read { reader -> (seq: Int64, epoch: Epoch)? in
            guard let log = try reader.log(of: name) else { return nil }
            guard let id else { return (log.head, log.epoch) }
            guard let message = try reader.message(id, in: name) else {
                throw ChatError(.unknownMessage, "message \(id) is not on this device", parameter: "through")
            }
            return (message.seq, log.epoch)
        }
        guard let place else {
            throw ChatError(.unknownConversation, "this device knows nothing of the conversation yet")
        }
        let request = ClientRequest.clear(name, seq: place.seq, epoch: place.epoch)
        return try await queue(request, newID(), about: id, hiding: .through(place.seq))
    }

    /// Deletes a range of history on the server, for everyone: from a point, included, to another, excluded.
    ///
    /// ``HistoryPoint/earliest`` and ``HistoryPoint/latest`` are the ends, so `from: .earliest, to: .latest` deletes
    /// everything. Unlike the other changes it is asked for at once, and not queued. It takes an administrator, where the
    /// server does not allow it to others.
    ///
    /// - Returns: how many messages were there and are gone.
    /// - Throws: `forbidden`, where history deletion is switched off too; `unknown-message` for a point that is not there;
    ///   `invalid-parameter`; `unreachable`.
    @discardableResult
    public func deleteHistory(from: HistoryPoint, to: HistoryPoint) async throws(ChatError) -> Int64 {
        let request = ClientRequest.deleteHistory(id, DeleteRange(from: from, to: to), operation: newID())
        var reader = try JSONReader(try await core.request(request))
        var count: Int64?
        try reader.object { (name, value) throws(ChatError) in
            guard name == "deleted" else { return try value.skip() }
            count = try value.integer()
        }
        return try count.required("deleted")
    }

    // MARK: Actions

    /// Reacts to a message; once more with the same is refused as a `conflict`.
    ///
    /// - Parameters:
    ///   - value: an emoji, or anything else of 1...128 bytes.
    ///   - id: the message.
    /// - Throws: `invalid-parameter`; `local-storage`. The server may refuse it still.
    @discardableResult
    public func react(_ value: String, to id: MessageID) async throws(ChatError) -> Sending {
        try await addAction(type: MessageAction.reaction, value: value, to: id)
    }

    /// Takes one's own reaction back.
    ///
    /// - Throws: `local-storage`. The server may refuse it still: `unknown-message` where there is none.
    @discardableResult
    public func unreact(_ value: String, from id: MessageID) async throws(ChatError) -> Sending {
        try await removeAction(type: MessageAction.reaction, value: value, from: id)
    }

    /// Attaches an action of any type to a message.
    ///
    /// - Throws: `invalid-parameter`; `local-storage`. The server may refuse it still: `conflict` where the user attached the
    ///   same before.
    @discardableResult
    public func addAction(type: String, value: String, to id: MessageID) async throws(ChatError) -> Sending {
        try MessageAction.check(type: type, value: value)
        let operation = newID()
        return try await queue(
            .addAction(self.id, id, type: type, value: value, operation: operation), operation, about: id)
    }

    /// Takes one's own action off a message.
    ///
    /// - Throws: `local-storage`. The server may refuse it still: `unknown-message` where there is none.
    @discardableResult
    public func removeAction(type: String, value: String, from id: MessageID) async throws(ChatError) -> Sending {
        try MessageAction.check(type: type, value: value)
        let operation = newID()
        return try await queue(
            .removeAction(self.id, id, .own(type: type, value: value), operation: operation), operation, about: id)
    }

    // MARK: The outbox

    /// What is out of sight at once.
    private enum Hiding: Sendable {
        case messages([MessageID])
        case through(Int64)
    }

    private func newID() -> MessageID {
        var generator = SystemRandomNumberGenerator()
        return MessageID(at: core.clock(), using: &generator)
    }

    private func queue(
        _ request: ClientRequest, _ operation: MessageID, about message: MessageID?, hiding: Hiding? = nil
    ) async throws(ChatError) -> Sending {
        let now = core.clock()
        let item = try await core.store.write { [id] writer in
            if let hiding { try Self.hide(hiding, in: id, writer) }
            return try writer.insert(request, operation, about: message, in: id, now: now)
        }
        core.changes.changed([id])
        core.mailbox.post(.queued(item))
        return Sending(id: operation, conversation: id, core: core, changes: message ?? operation)
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
    private func takeBack(_ id: MessageID) async throws(ChatError) -> Bool {
        let isUnsent = try await core.store.read { try $0.isUnsent(id) }
        guard isUnsent, case .cancelled = try await core.ask({ ClientCore.Input.cancel(id, $0) }) else { return false }
        core.changes.changed([self.id])
        return true
    }
}

extension ClientRequest {
    /// Refuses what a server would refuse, in the server's words.
    fileprivate func validated() throws(ChatError) -> ClientRequest {
        do {
            guard
                case .request(_, let request) = try ClientFrame.decode(
                    ClientFrame.request(ref: 0, self).encoded(), limits: .standard)
            else { return self }
            return request
        } catch {
            throw error.error
        }
    }
}
