public import ScrollbackModel
import ScrollbackWire

/// One page of history for each of several conversations.
public struct HistoryBatch: Sendable {
    /// The messages of each conversation that could be read; empty for a conversation without messages.
    public var messages: [ConversationID: [Message]]
    /// The position at which each conversation continues; absent for conversations that were read to their end.
    public var next: [ConversationID: HistoryCursor]
    /// The errors of conversations that could not be read.
    public var errors: [ConversationID: ChatError]
    /// The actions on the messages, if they were requested.
    public var actions: [MessageAction]
    /// The direction and the options of the following pages.
    var readsBackward: Bool
    var limit: Int?
    var includesActions: Bool
}

/// The result of refreshing messages.
public struct RefreshResult: Sendable {
    /// The messages that exist, in their current state, which is now stored on this device.
    public var matched: [Message]
    /// The messages that don't exist or that the user may not see, with the error for each.
    public var notMatched: [(reference: MessageReference, error: ChatError)]
}

extension ChatClient {
    /// Fetches one page of history for each of several conversations from the server.
    ///
    /// The fetched messages are stored on the device. Each conversation has its own cursor for the next page.
    ///
    /// - Parameters:
    ///   - ids: The conversations, 1...500.
    ///   - anchor: The start and the direction of the pages.
    ///   - limit: The maximum number of messages for each conversation: up to 100 for one conversation, up to 25 for
    ///     several or with actions. The default is the maximum.
    ///   - sort: The order of messages in each page.
    ///   - filter: The messages to return; only these count toward the limit.
    ///   - includingActions: Whether to return the individual actions on the messages; for one conversation only.
    /// - Throws: `invalid-parameter` naming the argument, or `unreachable`.
    public func fetchHistory(
        in ids: [ConversationID], _ anchor: Anchor = .latest, limit: Int? = nil, sort: Sort = .oldestFirst,
        matching filter: MessageFilter = .all, includingActions: Bool = false
    ) async throws(ChatError) -> HistoryBatch {
        try await fetch(
            FetchQuery(
                ids.map { (core.log(of: $0), nil) }, anchor: anchor, limit: limit, sort: sort, filter: filter,
                includesActions: includingActions))
    }

    /// Fetches the pages that follow a batch.
    ///
    /// Conversations that were read to their end are left out. The others keep their order, filter, limit, and whether
    /// actions are included.
    ///
    /// - Parameters:
    ///   - batch: The previous batch.
    ///   - limit: A different limit; `nil` for the batch's limit.
    /// - Throws: `invalid-parameter` naming the argument, also if nothing is left to read. `unreachable`.
    public func fetchHistory(after batch: HistoryBatch, limit: Int? = nil) async throws(ChatError) -> HistoryBatch {
        let conversations = batch.next.sorted { $0.key < $1.key }.map { ($0.key, HistoryCursor?.some($0.value)) }
        return try await fetch(
            FetchQuery(conversations, limit: limit ?? batch.limit, includesActions: batch.includesActions),
            readsBackward: batch.readsBackward)
    }

    private func fetch(_ query: FetchQuery, readsBackward: Bool? = nil) async throws(ChatError) -> HistoryBatch {
        try query.check()
        var batch = HistoryBatch(
            messages: [:], next: [:], errors: [:], actions: [], readsBackward: readsBackward ?? query.readsBackward,
            limit: query.limit, includesActions: query.includesActions)
        for page in try await core.perform(FetchHistory(query: query)).pages {
            switch page.result {
            case .failure(let error): batch.errors[page.conversation] = error
            case .success(let found):
                _ = try await core.apply(found, to: page.conversation)
                batch.messages[page.conversation] = found.messages.map(core.store.messageEncryption.open)
                batch.next[page.conversation] = batch.readsBackward ? found.older : found.newer
                batch.actions += found.actions
            }
        }
        return batch
    }

    /// Returns the number of messages that conversations have at or after a time, counted by the server.
    ///
    /// For the number of unread messages use ``Conversation/recent()``. A server with unlimited retention may count
    /// only messages of the last days.
    ///
    /// - Parameter since: The conversations and their times, 1...500.
    /// - Returns: The count for each conversation that the user may see.
    /// - Throws: `invalid-parameter` if `since` is empty or too large, or `unreachable`.
    public func messageCounts(
        since: [ConversationID: Timetoken]
    ) async throws(ChatError) -> [ConversationID: Int64] {
        guard (1...500).contains(since.count) else {
            throw .invalidParameter("since", "must contain 1...500 conversations", limit: 500)
        }
        let wanted = since.sorted { $0.key < $1.key }.map { (conversation: core.log(of: $0.key), time: $0.value) }
        var counts: [ConversationID: Int64] = [:]
        for (id, count) in try await core.perform(CountMessages(since: wanted)).counts { counts[id] = try? count.get() }
        return counts
    }

    /// Fetches messages again from the server and updates this device's copies.
    ///
    /// Read positions don't change. A message that was deleted on the server is not matched. If it was recalled, its
    /// tombstone replaces the local copy. Otherwise, the copy stays.
    ///
    /// - Parameter references: 1...20 messages of any conversations; duplicates are returned once.
    /// - Throws: `invalid-parameter` if `references` is empty or too large, or `unreachable`.
    public func refresh(_ references: [MessageReference]) async throws(ChatError) -> RefreshResult {
        guard (1...20).contains(references.count) else {
            throw .invalidParameter("messages", "must contain 1...20 messages", limit: 20)
        }
        var result = RefreshResult(matched: [], notMatched: [])
        for (reference, answer) in try await core.perform(RefreshMessages(messages: references)).messages {
            switch answer {
            case .success(let message): result.matched.append(message)
            case .failure(let error): result.notMatched.append((reference, error))
            }
        }
        let messages = result.matched
        try await core.apply(found: messages)
        result.matched = messages.map(core.store.messageEncryption.open)
        for (reference, error) in result.notMatched where error.code == .unknownMessage {
            try await applyTombstone(of: reference)
        }
        return result
    }

    /// Replaces the local copy of a message by its tombstone, if the server has one.
    private func applyTombstone(of reference: MessageReference) async throws(ChatError) {
        let id = core.log(of: reference.conversation)
        guard let copy = try await core.store.read({ try $0.asStored.message(reference.id, in: id) }), !copy.isDeleted
        else { return }
        let page = try await core.perform(
            GetHistory(conversation: id, query: HistoryQuery(.before(.seq(copy.seq + 1)), limit: 1)))
        guard page.messages.contains(where: { $0.id == copy.id && $0.isDeleted }) else { return }
        _ = try await core.apply(page, to: id)
    }

    // MARK: On this device

    /// Returns the number of messages of a time range that are stored on this device.
    ///
    /// - Parameters:
    ///   - ids: The conversations; a community stands for all of its channels.
    ///   - range: The time range, excluding its upper bound.
    /// - Throws: `invalid-parameter` if the range is empty, or `local-storage`.
    public func localMessageCount(
        in ids: [ConversationID], _ range: Range<Timetoken>
    ) async throws(ChatError) -> Int64 {
        guard !range.isEmpty else { throw .invalidParameter("range", "must not be empty") }
        return try await core.store.read { [user = core.user] reader in
            try ids.reduce(0) { try $0 + reader.messageCount(in: $1.relative(to: user), range) }
        }
    }

    /// Deletes messages before a time from this device only.
    ///
    /// The server, other devices and unread counts are not affected. Local pages no longer contain the messages. A
    /// remote or merged page loads them again, and so does a ``Timeline`` that shows their position. Queued messages
    /// and drafts stay. A list entry whose last message is deleted shows none until the device connects again or a new
    /// message arrives. To hide messages on all devices of the user, use ``Conversation/clear(through:)``.
    ///
    /// - Parameters:
    ///   - ids: The conversations; a community stands for all of its channels. Conversations that this device doesn't
    ///     know have no messages to delete.
    ///   - time: The end of the range; a message with exactly this time stays.
    /// - Returns: The number of deleted messages.
    /// - Throws: `local-storage`.
    @discardableResult
    public func deleteLocalMessages(in ids: [ConversationID], before time: Timetoken) async throws(ChatError) -> Int64 {
        let deleted = try await core.store.write { [user = core.user] writer in
            let known = Set(try ids.flatMap { try writer.reader.conversations(of: $0.relative(to: user)) })
            return try known.map { (id: $0, count: try writer.deleteLocalMessages(before: time, in: $0)) }
        }
        core.changes.changed(Set(deleted.lazy.filter { $0.count > 0 }.map(\.id)))
        return deleted.reduce(0) { $0 + $1.count }
    }
}

extension Conversation {
    /// Returns messages that are stored on this device by ID, oldest first, and the IDs that are not stored.
    ///
    /// Duplicate IDs are returned once.
    ///
    /// - Parameter ids: 1...20 message IDs.
    /// - Throws: `invalid-parameter` if `ids` is empty or too large, or `local-storage`.
    public func localMessages(
        _ ids: [MessageID]
    ) async throws(ChatError) -> (found: [Message], missing: [MessageID]) {
        guard (1...20).contains(ids.count) else {
            throw .invalidParameter("ids", "must contain 1...20 message IDs", limit: 20)
        }
        return try await core.store.read { [id] reader in
            var seen: Set<MessageID> = []
            var found: [Message] = []
            var missing: [MessageID] = []
            for wanted in ids where seen.insert(wanted).inserted {
                if let message = try reader.message(wanted, in: id) {
                    found.append(message)
                } else {
                    missing.append(wanted)
                }
            }
            return (found.sorted { $0.seq < $1.seq }, missing)
        }
    }

    /// Returns a message from this device, or from the server if it is not stored here.
    ///
    /// Changes that are not sent yet are applied.
    ///
    /// - Throws: `unknown-message`, or `unreachable` if the message is not stored here and the server can't be reached.
    public func message(_ id: MessageID) async throws(ChatError) -> Message {
        let known = try await core.store.read { [name = self.id, user = core.user] in
            try $0.changedMessage(id, in: name, by: user)
        }
        if let known { return known }
        let page = try await history(.around(.id(id), before: 0, after: 0), from: .remote)
        guard let message = page.messages.first else {
            throw ChatError(
                .unknownMessage, "Message \(id) does not exist in this conversation, or you may not see it.")
        }
        return message
    }

    /// Fetches the actions on one message, or on all messages of the conversation, oldest first.
    ///
    /// - Parameters:
    ///   - id: The message; `nil` for all messages.
    ///   - after: The time of the last action of the previous page.
    ///   - limit: The maximum number of actions, 1...100.
    /// - Returns: The actions, and the value of `after` for the next page, or `nil` at the end.
    /// - Throws: `unknown-message`, `invalid-parameter` or `unreachable`.
    public func actions(
        on id: MessageID? = nil, after: Timetoken? = nil, limit: Int = 20
    ) async throws(ChatError) -> (actions: [MessageAction], next: Timetoken?) {
        guard (1...100).contains(limit) else { throw .invalidParameter("limit", "must be in 1...100", limit: 100) }
        let page = try await core.perform(ListActions(conversation: self.id, id: id, after: after, limit: limit))
        return (page.elements, try page.next())
    }
}
