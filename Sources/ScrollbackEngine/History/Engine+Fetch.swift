package import ScrollbackModel

extension Engine {
    /// Returns one page of each of several conversations, from one snapshot.
    ///
    /// Each page has its own cursor, or none if it reaches the end of the conversation. When the answer is full, the
    /// remaining pages are empty and have a cursor to continue from.
    package func fetch(_ query: FetchQuery, by caller: Caller) throws -> [FetchedPage] {
        try query.check()
        try checkHistory(by: caller)
        let limit = query.limit ?? query.maximumMessages
        return try store.read { store in
            var budget = ResponseBudget(messages: .max)
            return try query.conversations.map { id, cursor in
                let one = HistoryQuery(
                    cursor.map { .cursor($0) } ?? query.anchor, limit: limit, sort: query.sort, filter: query.filter,
                    includesActions: query.includesActions)
                do {
                    try one.check(pageSize: limits.pageSize)
                    let access = try access(to: id.logID.absolute(for: caller.user), for: caller, in: store)
                    let page = try budget.slice(limit) {
                        try Self.page(one, access, store, reader: caller.user, budget: &$0)
                    }
                    return FetchedPage(conversation: id, result: .success(page))
                } catch let error as ChatError where error.status < 500 {
                    return FetchedPage(conversation: id, result: .failure(error))
                }
            }
        }
    }

    // MARK: Refresh

    /// The maximum number of messages in one refresh request.
    package static let maximumRefreshed = 20

    /// Returns the current state of messages.
    ///
    /// - Returns: For each distinct reference, the message or the error.
    package func refresh(
        _ references: [MessageReference], by caller: Caller
    ) throws -> [(reference: MessageReference, result: Result<Message, ChatError>)] {
        guard (1...Self.maximumRefreshed).contains(references.count) else {
            throw ChatError.invalidParameter(
                "messages", "must have 1...\(Self.maximumRefreshed) messages", limit: Self.maximumRefreshed)
        }
        try checkHistory(by: caller)
        var seen: Set<MessageReference> = []
        return try store.read { store in
            try references.filter { seen.insert($0).inserted }.map { reference in
                do {
                    let message = try message(reference.id, in: reference.conversation, by: caller, store)
                    guard !message.isDeleted else {
                        throw ChatError(.unknownMessage, "The message was deleted.")
                    }
                    return (reference, .success(message))
                } catch let error as ChatError where error.status < 500 {
                    return (reference, .failure(error))
                }
            }
        }
    }
}
