public import ScrollbackModel
import ScrollbackWire

/// A page of each of several conversations.
public struct HistoryBatch: Sendable {
    /// The messages of each conversation that could be read; one without messages has none.
    public var messages: [ConversationID: [Message]]
    /// Where each conversation goes on; one that was read to its end is not among them.
    public var next: [ConversationID: HistoryCursor]
    /// Why some could not be read.
    public var errors: [ConversationID: ChatError]
    /// The actions on the messages, where they were asked for.
    public var actions: [MessageAction]
    /// Which way the pages go on, and with what.
    var goesOlder: Bool
    var limit: Int?
    var includesActions: Bool
}

/// What became of messages that were asked for once more.
public struct RefreshResult: Sendable {
    /// Those that are there, as they are now; this device has them like that from now on.
    public var matched: [Message]
    /// Those that are not there, or that the user may not see, and why.
    public var notMatched: [(reference: MessageReference, error: ChatError)]
}

extension ChatClient {
    /// Asks the server for a page of each of several conversations, each with a cursor of its own.
    ///
    /// What comes is kept on the device too.
    ///
    /// - Parameters:
    ///   - ids: 1...500 conversations.
    ///   - anchor: where their pages begin and which way they go.
    ///   - limit: how many messages of each: to 100 of one conversation, to 25 of several or with actions, which is also what
    ///     is given without it.
    ///   - sort: the order in each page.
    ///   - filter: which messages are wanted; the limit counts only those.
    ///   - includingActions: whether the actions on the messages are wanted one by one; of one conversation only.
    /// - Throws: `invalid-parameter` naming the argument; `unreachable`.
    public func fetchHistory(
        in ids: [ConversationID], _ anchor: Anchor = .latest, limit: Int? = nil, sort: Sort = .oldestFirst,
        matching filter: MessageFilter = .all, includingActions: Bool = false
    ) async throws(ChatError) -> HistoryBatch {
        try await fetch(
            FetchQuery(
                ids.map { ($0.log, nil) }, anchor: anchor, limit: limit, sort: sort, filter: filter,
                includesActions: includingActions))
    }

    /// Goes on where a batch ended.
    ///
    /// The conversations that were read to their end drop out; the others keep their order, filter and limit, and whether
    /// actions come with them.
    ///
    /// - Parameters:
    ///   - batch: what was read last.
    ///   - limit: another limit than the batch had.
    /// - Throws: `invalid-parameter` naming the argument, and where nothing is left to read; `unreachable`.
    public func fetchHistory(after batch: HistoryBatch, limit: Int? = nil) async throws(ChatError) -> HistoryBatch {
        let conversations = batch.next.sorted { $0.key < $1.key }.map { ($0.key, HistoryCursor?.some($0.value)) }
        return try await fetch(
            FetchQuery(conversations, limit: limit ?? batch.limit, includesActions: batch.includesActions),
            goesOlder: batch.goesOlder)
    }

    private func fetch(_ query: FetchQuery, goesOlder: Bool? = nil) async throws(ChatError) -> HistoryBatch {
        try query.check()
        var batch = HistoryBatch(
            messages: [:], next: [:], errors: [:], actions: [], goesOlder: goesOlder ?? query.goesOlder,
            limit: query.limit, includesActions: query.includesActions)
        var pages: [FetchedPage] = []
        var reader = try JSONReader(try await core.request(.fetch(query)))
        try reader.object { (name, value) throws(ChatError) in
            guard name == "pages" else { return try value.skip() }
            pages = try value.list("pages", limit: 500) { (page) throws(ChatError) in try FetchedPage(from: &page) }
        }
        for page in pages {
            switch page.result {
            case .failure(let error): batch.errors[page.conversation] = error
            case .success(let found):
                _ = try await core.apply(found, to: page.conversation)
                batch.messages[page.conversation] = found.messages.map(core.store.sealing.open)
                batch.next[page.conversation] = batch.goesOlder ? found.older : found.newer
                batch.actions += found.actions
            }
        }
        return batch
    }

    /// Asks the server how many messages conversations have at or after a time.
    ///
    /// The message at the time itself is among them; ``Conversation/recent()`` tells what is unread. Where messages are kept
    /// for ever the server may count the last days only.
    ///
    /// - Parameter since: 1...500 conversations, each with its time.
    /// - Returns: a count for each conversation that the user may see.
    /// - Throws: `invalid-parameter` for none or too many; `unreachable`.
    public func messageCounts(
        since: [ConversationID: Timetoken]
    ) async throws(ChatError) -> [ConversationID: Int64] {
        guard (1...500).contains(since.count) else {
            throw .invalidParameter("since", "must name 1...500 conversations", limit: 500)
        }
        let wanted = since.sorted { $0.key < $1.key }.map { (conversation: $0.key.log, time: $0.value) }
        var reader = try JSONReader(try await core.request(.counts(wanted)))
        var counts: [ConversationID: Int64] = [:]
        for (id, count) in try MessageCounts.read(&reader) { counts[id] = try? count.get() }
        return counts
    }

    /// Asks the server for messages once more, and has this device's copies be as they are now.
    ///
    /// Read positions stay; a message that was deleted on the server is not matched, and the local copy is left.
    ///
    /// - Parameter references: 1...20 messages, of any conversations; one that is given twice is answered once.
    /// - Throws: `invalid-parameter` for none or too many; `unreachable`.
    public func refresh(_ references: [MessageReference]) async throws(ChatError) -> RefreshResult {
        guard (1...20).contains(references.count) else {
            throw .invalidParameter("messages", "must be 1...20 messages", limit: 20)
        }
        var reader = try JSONReader(try await core.request(.refresh(references)))
        var result = RefreshResult(matched: [], notMatched: [])
        for (reference, answer) in try Refreshed.read(&reader) {
            switch answer {
            case .success(let message): result.matched.append(message)
            case .failure(let error): result.notMatched.append((reference, error))
            }
        }
        let messages = result.matched
        if !messages.isEmpty { _ = try await core.apply(messages.map { .found($0) }) }
        result.matched = messages.map(core.store.sealing.open)
        return result
    }

    // MARK: On this device

    /// How many messages this device has that were sent in a time, of a community's channels or of other conversations.
    ///
    /// - Parameters:
    ///   - ids: conversations; a community itself stands for all of its channels.
    ///   - range: from a time, included, to another, excluded.
    /// - Throws: `invalid-parameter` for an empty range; `local-storage`.
    public func localMessageCount(
        in ids: [ConversationID], _ range: Range<Timetoken>
    ) async throws(ChatError) -> Int64 {
        guard !range.isEmpty else { throw .invalidParameter("range", "must end after it begins") }
        return try await core.store.read { reader in
            try ids.reduce(0) { try $0 + reader.messageCount(in: $1, range) }
        }
    }
}

extension Conversation {
    /// Messages of this device by id, oldest first, and which are not here; each once.
    ///
    /// - Parameter ids: 1...20 ids.
    /// - Throws: `invalid-parameter` for none or too many; `local-storage`.
    public func localMessages(
        _ ids: [MessageID]
    ) async throws(ChatError) -> (found: [Message], missing: [MessageID]) {
        guard (1...20).contains(ids.count) else {
            throw .invalidParameter("ids", "must be 1...20 message ids", limit: 20)
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

    /// One message, from this device or else the server.
    ///
    /// - Throws: `unknown-message`; `unreachable` where it is not here and the server can't be asked.
    public func message(_ id: MessageID) async throws(ChatError) -> Message {
        if let known = try await core.store.read({ [name = self.id] in try $0.message(id, in: name) }) { return known }
        let page = try await history(.around(.id(id), before: 0, after: 0), from: .remote)
        guard let message = page.messages.first else {
            throw ChatError(.unknownMessage, "there is no message \(id) here that you may see")
        }
        return message
    }

    /// Asks the server for the actions on a message, or on any of the conversation, oldest first.
    ///
    /// - Parameters:
    ///   - id: the message; absent for all.
    ///   - after: the last action of the page before.
    ///   - limit: how many, 1...100.
    /// - Throws: `unknown-message`; `invalid-parameter`; `unreachable`.
    public func actions(
        on id: MessageID? = nil, after: Timetoken? = nil, limit: Int = 20
    ) async throws(ChatError) -> (actions: [MessageAction], next: Timetoken?) {
        guard (1...100).contains(limit) else { throw .invalidParameter("limit", "must be in 1...100", limit: 100) }
        var reader = try JSONReader(try await core.request(.actions(self.id, id, after: after, limit: limit)))
        var actions: [MessageAction] = []
        var next: Timetoken?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "actions":
                actions = try value.list("actions", limit: 100) { (action) throws(ChatError) in
                    try MessageAction(from: &action)
                }
            case "cursor": next = try value.timetoken()
            default: try value.skip()
            }
        }
        return (actions, next)
    }
}
