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
    /// - Throws: `invalid-parameter` naming the argument; what the server refused; of a local page `unknown-message` where
    ///   this device can't say where the anchor is. A server that can't be reached is a
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

    /// One message after the other, from a point to the end, page by page as they are asked for.
    ///
    /// - Parameters:
    ///   - anchor: where to begin and which way to go: `latest`, `before` and `backward` to older, everything else to
    ///     newer. A page's cursor does not say which way it goes: `invalid-parameter`.
    ///   - filter: which messages are wanted.
    ///   - source: ``HistorySource/local`` passes over what is not on this device.
    public func messages(
        from anchor: Anchor = .latest, matching filter: MessageFilter = .all, source: HistorySource = .merged
    ) -> MessageSequence {
        MessageSequence(conversation: self, anchor: anchor, filter: filter, source: source)
    }

    /// The messages that call this user by name, or everyone, and were not read yet, oldest first (row 120).
    ///
    /// Their count is ``RecentConversation/mentions``.
    ///
    /// - Throws: `local-storage`.
    public func unreadMentions() async throws(ChatError) -> MessageSequence {
        var mentions = messages(from: try await firstNotRead(), matching: .mentionsMe)
        mentions.excluded = core.user
        return mentions
    }

    /// The messages of others that count and were not read yet, oldest first (row 208).
    ///
    /// Their count is ``RecentConversation/unread``; a message that was taken back is not among them, even where the server
    /// counts it still. What this device does not have comes from the server as the loop gets there. Reading meanwhile
    /// changes nothing for a loop that has begun, and what is said meanwhile comes at its end.
    ///
    /// - Throws: `local-storage`.
    public func unreadMessages() async throws(ChatError) -> MessageSequence {
        var unread = messages(from: try await firstNotRead())
        unread.excluded = core.user
        unread.countsUnread = true
        return unread
    }

    /// Where what was not read begins.
    private func firstNotRead() async throws(ChatError) -> Anchor {
        let read = try await core.store.read { [id] reader in
            try reader.number(of: id).flatMap { try reader.readState($0) }?.position ?? 0
        }
        return .after(place: read)
    }

    /// What was said after the newest message that this device had when it came online, oldest first.
    ///
    /// It is for community channels: what was said there while the device was away does not come by itself, but for the last
    /// message and the counts. Call it once the channel's entry came, as after ``ConnectionState/online`` or when
    /// ``Recents/views(limit:matching:)`` shows the channel to have moved. Where the device was away several times and not
    /// all of it was read, the sequence begins at the first time; a new device has missed nothing. It is
    /// `messages(from: .after(…))` with the place the device remembers, and can be asked for again.
    ///
    /// - Throws: `local-storage`.
    public func catchUp() async throws(ChatError) -> MessageSequence {
        let known = try await core.store.read { [id] in try $0.missedAfter(id) }
        return messages(from: .after(place: known))
    }

    // MARK: Local

    private func localHistory(_ query: HistoryQuery) async throws(ChatError) -> HistoryPage {
        if case .cursor = query.anchor {
            throw .invalidParameter("anchor", "is a cursor of the server's: read on from .remote or .merged")
        }
        let run = try await localRun(query)
        if let point = run.unknownPoint, !point.isEnd {
            throw ChatError(.unknownMessage, "this device does not know where \(point) is", parameter: "anchor")
        }
        return run.page(query)
    }

    private func localRun(_ query: HistoryQuery) async throws(ChatError) -> LocalRun {
        try await core.store.read { [id] in try LocalRun(query, in: id, $0) }
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
        let messages = page.messages.filter { !known.contains($0.id) }
        // The cursor moves by the server's page, whatever is left out of it here.
        return HistoryPage(
            messages: messages.map(core.store.sealing.open), older: page.older.map { .cursor($0) },
            newer: page.newer.map { .cursor($0) }, shortfall: nil, gap: nil)
    }

    func fetch(_ query: HistoryQuery) async throws(ChatError) -> LogPage {
        do {
            let body = try await core.request(.history(id, query))
            var reader = try JSONReader(body)
            return try LogPage(from: &reader)
        } catch {
            // The server names the anchor by what it travelled as.
            var error = error
            if let name = error.parameter, ["before", "after", "around", "from", "to", "cursor"].contains(name) {
                error.parameter = "anchor"
            }
            throw error
        }
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
            } catch let error where error.leavesLocalHistory {
                return try await localRun(query).page(query).short(of: error)
            }
        }
        var fruitless = 0
        var hasAskedForNewest = core.isCurrent(id)
        while true {
            let run = try await localRun(query)
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
                return run.page(query)
            }
            do {
                let page = try await fetch(request)
                let outcome = try await core.apply(page, to: id)
                fruitless = run.gap != nil && outcome?.changedGaps == true ? 0 : fruitless + 1
            } catch let error where error.leavesLocalHistory {
                return run.page(query).short(of: error)
            }
            if fruitless == 4 {
                return run.page(query).short(
                    of: ChatError(.internalError, "the server's pages do not fill the gap"))
            }
        }
    }
}

extension ChatError {
    /// Whether a merged page has what is here, and says what it lacks.
    var leavesLocalHistory: Bool { isTemporary || code == .persistenceDisabled }
}

extension HistoryPage {
    func short(of error: ChatError) -> HistoryPage {
        var page = self
        page.shortfall = error
        return page
    }
}

extension Anchor {
    /// To newer from a place, or from the oldest end where that is none.
    static func after(place seq: Seq) -> Anchor {
        seq > 0 ? .after(.seq(seq)) : .earliest
    }
}
