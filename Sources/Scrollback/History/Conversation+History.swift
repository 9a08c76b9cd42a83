public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

extension Conversation {
    /// One page of the conversation's history.
    ///
    /// - Parameters:
    ///   - anchor: where it begins and which way it goes.
    ///   - limit: how many messages, 0...100; `around` gives both counts itself.
    ///   - sort: the order in the page.
    ///   - filter: which messages are wanted; the limit counts only those.
    ///   - source: the device, the server, or the device first and the server for what is missing there.
    /// - Returns: the page, and where it goes on.
    /// - Throws: `invalid-parameter` naming the argument; what the server refused. A server that can't be reached is a
    ///   `shortfall` of a merged page, and an error of a remote one.
    public func history(
        _ anchor: Anchor = .latest, limit: Int = 20, sort: Sort = .newestFirst, matching filter: MessageFilter = .all,
        from source: HistorySource = .merged
    ) async throws(ChatError) -> HistoryPage {
        let query = HistoryQuery(anchor, limit: limit, sort: sort, filter: filter)
        try query.check(pageSize: Limits.standard.pageSize)
        switch source {
        case .local: return try await localHistory(query)
        case .remote(let excludingLocal): return try await remoteHistory(query, excludingLocal: excludingLocal)
        case .merged: return try await mergedHistory(query)
        }
    }

    /// Every message from one end to the other, page by page.
    ///
    /// - Parameters:
    ///   - anchor: where to begin and which way to go: ``Anchor/latest`` to older, ``Anchor/earliest`` to newer.
    ///   - filter: which messages are wanted.
    ///   - source: the device, the server, or the device first and the server for what is missing there.
    /// - Returns: the messages, in the direction of the anchor. It throws a `ChatError` where it can't go on: what
    ///   ``history(_:limit:sort:matching:from:)`` throws, or a page's shortfall.
    public func messages(
        from anchor: Anchor = .latest, matching filter: MessageFilter = .all, source: HistorySource = .merged
    ) -> AsyncThrowingStream<Message, any Error> {
        let goesNewer = if case .after = anchor { true } else { false }
        return AsyncThrowingStream { continuation in
            let task = Task {
                var next: Anchor? = anchor
                while let anchor = next, !Task.isCancelled {
                    let page = try await history(
                        anchor, limit: 100, sort: goesNewer ? .oldestFirst : .newestFirst, matching: filter,
                        from: source)
                    for message in page.messages { continuation.yield(message) }
                    if let shortfall = page.shortfall { throw shortfall }
                    next = goesNewer ? page.newer : page.older
                }
                continuation.finish()
            }
            Task {
                if case .failure(let error) = await task.result { continuation.finish(throwing: error) }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    // MARK: Local

    private func localHistory(_ query: HistoryQuery) async throws(ChatError) -> HistoryPage {
        try await core.store.read { [id] reader in
            try LocalRun(query, in: id, reader).page(sort: query.sort)
        }
    }

    // MARK: Remote

    private func remoteHistory(_ query: HistoryQuery, excludingLocal: Bool) async throws(ChatError) -> HistoryPage {
        let page = try await fetch(query)
        var known: Set<MessageID> = []
        if excludingLocal {
            known = try await core.store.read { [id] reader in
                Set(try page.messages.filter { try reader.message($0.id, in: id) != nil }.map(\.id))
            }
        }
        _ = try await core.apply(page, to: id)
        // The cursor moves by the server's page, whatever is left out of it here.
        return HistoryPage(
            messages: page.messages.filter { !known.contains($0.id) }, older: page.older.map { .cursor($0) },
            newer: page.newer.map { .cursor($0) }, shortfall: nil, gap: nil)
    }

    func fetch(_ query: HistoryQuery) async throws(ChatError) -> LogPage {
        let body = try await core.request(.history(id, query))
        var reader = try JSONReader(body)
        return try LogPage(from: &reader)
    }

    // MARK: Merged

    /// Fills the gaps the page touches, then reads it from the device.
    ///
    /// Each round fills at least one place, or ends.
    private func mergedHistory(_ query: HistoryQuery) async throws(ChatError) -> HistoryPage {
        // A filtered page is the server's: what a filter leaves out says nothing about gaps. So is one that goes on from it.
        var isServers = query.filter != .all
        if case .cursor = query.anchor { isServers = true }
        if isServers {
            do {
                return try await remoteHistory(query, excludingLocal: false)
            } catch let error where error.isTemporary {
                return try await localHistory(query).short(of: error)
            }
        }
        var fruitless = 0
        var hasAskedForNewest = core.isCurrent(id)
        while true {
            let run = try await core.store.read { [id] in try LocalRun(query, in: id, $0) }
            let request: HistoryQuery
            if let gap = run.gap {
                request = gap.query
            } else if let point = run.unknownPoint {
                let side = max(query.limit, 1)
                request = HistoryQuery(.around(point, before: side, after: side))
            } else if run.newer == nil, !hasAskedForNewest {
                // What lies above the local head is not known until the connection has brought it.
                hasAskedForNewest = true
                request = HistoryQuery(.latest, limit: max(query.limit, 1))
            } else {
                return run.page(sort: query.sort)
            }
            do {
                let page = try await fetch(request)
                let outcome = try await core.apply(page, to: id)
                fruitless = run.gap != nil && outcome?.changedGaps == true ? 0 : fruitless + 1
            } catch let error where error.isTemporary {
                return run.page(sort: query.sort).short(of: error)
            }
            if fruitless == 4 {
                return run.page(sort: query.sort).short(
                    of: ChatError(.internalError, "the server's pages do not fill the gap"))
            }
        }
    }
}

extension HistoryPage {
    func short(of error: ChatError) -> HistoryPage {
        var page = self
        page.shortfall = error
        return page
    }
}
