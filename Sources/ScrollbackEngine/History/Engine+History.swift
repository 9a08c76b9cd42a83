package import ScrollbackModel

extension Engine {
    /// Returns one page of a conversation's history.
    ///
    /// - Throws: `invalid-parameter` with the parameter's name, `unknown-conversation`, `unknown-message` if an
    ///   anchor's message does not exist, and `epoch-changed` if the cursor belongs to a previous log.
    package func history(of id: ConversationID, _ query: HistoryQuery, by caller: Caller) throws -> LogPage {
        try query.check(pageSize: limits.pageSize)
        try checkHistory(by: caller)
        let log = id.logID.absolute(for: caller.user)
        return try withAccess(to: log, for: caller) { access, store in
            var budget = ResponseBudget(messages: query.limit)
            return try Self.page(query, access, store, reader: caller.user, budget: &budget)
        }
    }

    /// Reads the page that a query describes.
    ///
    /// - Parameter budget: The limit of messages and bytes. Queries with the anchor `around` use their own limits of
    ///   messages.
    static func page(
        _ query: HistoryQuery, _ access: Access, _ store: any StoreReader, reader: UserID, budget: inout ResponseBudget
    ) throws -> LogPage {
        budget.includesActions = query.includesActions
        var page = try messages(query, access, store, reader: reader, budget: &budget)
        if query.includesActions {
            page.actions = try page.messages.filter { !$0.actions.isEmpty }.flatMap { message in
                try store.actions(
                    at: message.seq, in: access.conversation.number, after: nil, limit: LogPage.maximumActionsPerMessage
                ).filter { access.shows($0) }.map { $0.action(on: message.id) }
            }
        }
        return page
    }

    private static func messages(
        _ query: HistoryQuery, _ access: Access, _ store: any StoreReader, reader: UserID, budget: inout ResponseBudget
    ) throws -> LogPage {
        var query = query
        var cursor: PageCursor?
        if case .cursor(let text) = query.anchor {
            let read = try PageCursor(text)
            guard read.epoch == access.state.epoch else {
                throw ChatError(
                    .epochChanged, "The conversation was recreated. Start again without a cursor.", parameter: "cursor")
            }
            query.sort = read.sort
            query.filter = read.filter
            cursor = read
        }
        let pages = PageReader(access: access, store: store, reader: reader, sort: query.sort, filter: query.filter)
        switch query.anchor {
        case .cursor:
            guard let cursor else { throw ChatError.invalidParameter("cursor", "must be a page's cursor") }
            return switch cursor.direction {
            case .older: try pages.older(than: cursor.seq, downTo: cursor.end, &budget)
            case .newer: try pages.newer(than: cursor.seq, before: cursor.end, &budget)
            }
        case .before(let point):
            return try pages.older(than: pages.position(point, "before").newestOlder + 1, &budget)
        case .after(let point):
            return try pages.newer(than: pages.position(point, "after").oldestNewer - 1, before: nil, &budget)
        case .around(let point, let before, let after):
            return try pages.around(try pages.position(point, "around"), before: before, after: after, &budget)
        case .backward(let from, let to):
            let bound = try pages.position(from, "before").newestOlder + 1
            return try pages.older(than: bound, downTo: try pages.position(to, "from").newestOlder + 1, &budget)
        case .between(let from, let to):
            let first = try pages.position(from, "from").newestOlder
            let end = try pages.position(to, "to").newestOlder + 1
            return try pages.newer(than: first, before: end, &budget)
        }
    }

    /// Returns one message.
    ///
    /// - Throws: `unknown-message`, `unknown-conversation`.
    package func message(_ id: MessageID, in conversation: ConversationID, by caller: Caller) throws -> Message {
        try checkHistory(by: caller)
        return try store.read { try message(id, in: conversation, by: caller, $0) }
    }

    func message(
        _ id: MessageID, in conversation: ConversationID, by caller: Caller, _ store: any StoreReader
    ) throws -> Message {
        let log = conversation.logID.absolute(for: caller.user)
        let access = try access(to: log, for: caller, in: store)
        guard let row = try store.message(id, in: access.conversation.number), access.visible.contains(row.seq) else {
            throw ChatError(.unknownMessage, "Message \(id) does not exist, or you may not see it.")
        }
        return try access.message(row, in: store)
    }
}
