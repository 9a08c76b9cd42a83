public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

extension Conversation {
    /// Returns one page of the conversation's history.
    ///
    /// - Parameters:
    ///   - anchor: The start and the direction of the page.
    ///   - limit: The maximum number of messages, 0...100; `around` contains its own limits.
    ///   - sort: The order of messages in the page.
    ///   - filter: The messages to return; only these count toward the limit.
    ///   - source: The device, the server, or the device supplemented by the server.
    /// - Returns: The page, with anchors for the adjacent pages.
    /// - Throws: `invalid-parameter` naming the argument, or the server's error. A local page throws `unknown-message`
    ///   if the device does not know the anchor's position. If the server can't be reached, a remote page throws
    ///   `unreachable`, and a merged page reports the error in its `remoteError`.
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

    /// Returns a sequence of messages from a point to the end, loading pages on demand.
    ///
    /// - Parameters:
    ///   - anchor: The start and the direction. `latest`, `before` and `backward` read toward older messages, all other
    ///     anchors toward newer ones. A page's cursor has no direction and causes `invalid-parameter`.
    ///   - filter: The messages to return.
    ///   - source: The source of the messages; ``HistorySource/local`` skips messages that are not stored on this
    ///     device.
    public func messages(
        from anchor: Anchor = .latest, matching filter: MessageFilter = .all, source: HistorySource = .merged
    ) -> MessageSequence {
        MessageSequence(conversation: self, anchor: anchor, filter: filter, source: source)
    }

    /// Returns the unread messages that mention this user or everyone, oldest first.
    ///
    /// Their number is ``RecentConversation/mentions``.
    ///
    /// - Throws: `local-storage`.
    public func unreadMentions() async throws(ChatError) -> MessageSequence {
        var mentions = messages(from: try await firstUnreadAnchor(), matching: .mentionsMe)
        mentions.excludedSender = core.user
        return mentions
    }

    /// Returns the unread messages of other users that count as unread, oldest first.
    ///
    /// Their number is ``RecentConversation/unread``. Recalled messages are not included, even if the server still
    /// counts them. Messages that are not stored on this device are loaded from the server on demand. Marking messages
    /// as read does not affect an iteration in progress, and messages that arrive during it are appended.
    ///
    /// - Throws: `local-storage`.
    public func unreadMessages() async throws(ChatError) -> MessageSequence {
        var unread = messages(from: try await firstUnreadAnchor())
        unread.excludedSender = core.user
        unread.countsUnread = true
        return unread
    }

    /// Returns the anchor at which unread messages begin.
    private func firstUnreadAnchor() async throws(ChatError) -> Anchor {
        let read = try await core.store.read { [id] reader in
            try reader.number(of: id).flatMap { try reader.readState($0) }?.position ?? 0
        }
        return .after(place: read)
    }

    /// Returns the messages that this device missed while it was offline, oldest first.
    ///
    /// Use it for community channels. After a reconnect the server sends only a channel's last message and counts, not
    /// the missed messages. Call the method when the channel's entry is current: after ``ConnectionState/online``, or
    /// when ``Recents/views(limit:matching:)`` shows a change of the channel.
    ///
    /// If messages of several offline periods are missing, the sequence begins with the first period. On a new device
    /// it is empty. The method can be called repeatedly.
    ///
    /// - Throws: `local-storage`.
    public func catchUp() async throws(ChatError) -> MessageSequence {
        let known = try await core.store.read { [id] in try $0.missedAfter(id) }
        return messages(from: .after(place: known))
    }

    // MARK: Local

    private func localHistory(_ query: HistoryQuery) async throws(ChatError) -> HistoryPage {
        if case .cursor = query.anchor {
            throw .invalidParameter("anchor", "is a cursor of the server: continue with .remote or .merged")
        }
        let run = try await localRun(query)
        if let point = run.unknownPoint, !point.isEnd {
            throw ChatError(
                .unknownMessage, "This device does not know the position of \(point). Use .remote or .merged.",
                parameter: "anchor")
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
        // The cursors follow the server's page, even if messages are excluded here.
        return HistoryPage(
            messages: messages.map(core.store.messageEncryption.open), older: page.older.map { .cursor($0) },
            newer: page.newer.map { .cursor($0) }, remoteError: nil, gap: nil)
    }

    func fetch(_ query: HistoryQuery) async throws(ChatError) -> LogPage {
        do {
            return try await core.perform(GetHistory(conversation: id, query: query))
        } catch {
            // The server's error names the wire parameter of the anchor.
            var error = error
            if let name = error.parameter, ["before", "after", "around", "from", "to", "cursor"].contains(name) {
                error.parameter = "anchor"
            }
            throw error
        }
    }

    // MARK: Merged

    /// Fills the gaps that the page touches, and then reads the page from the device.
    ///
    /// Each round fills at least one sequence number, or is the last one.
    private func mergedHistory(_ query: HistoryQuery) async throws(ChatError) -> HistoryPage {
        // Filtered pages and pages from a cursor come from the server, because a filtered page can't fill gaps.
        var needsServer = query.filter != .all
        if case .cursor = query.anchor { needsServer = true }
        if needsServer {
            do {
                return try await remoteHistory(query, excludingLocal: false)
            } catch let error where error.allowsLocalFallback {
                return try await localRun(query).page(query).addingRemoteError(error)
            }
        }
        var attemptsWithoutProgress = 0
        var hasRequestedNewest = core.isCurrent(id)
        while true {
            let run = try await localRun(query)
            let request: HistoryQuery
            if let gap = run.gap {
                request = gap.query
            } else if let point = run.unknownPoint {
                let side = max(query.limit, 1)
                let start = try await core.store.read { [id] in try $0.requestPoint(for: point, in: id) }
                request = HistoryQuery(.around(start, before: side, after: side))
            } else if run.newer == nil, !hasRequestedNewest {
                // Messages above the local head are unknown until the connection has synced.
                hasRequestedNewest = true
                request = HistoryQuery(.latest, limit: max(query.limit, 1))
            } else {
                return run.page(query)
            }
            do {
                let page = try await fetch(request)
                let outcome = try await core.apply(page, to: id)
                attemptsWithoutProgress = outcome?.changedGaps == true ? 0 : attemptsWithoutProgress + 1
            } catch let error where error.allowsLocalFallback {
                return run.page(query).addingRemoteError(error)
            }
            if attemptsWithoutProgress == 4 {
                return run.page(query).addingRemoteError(
                    ChatError(.internalError, "The server's pages do not fill a gap in the history."))
            }
        }
    }
}

extension ChatError {
    /// Whether a merged page or search falls back to local messages and reports this error as its remote error.
    var allowsLocalFallback: Bool { isTemporary || code == .persistenceDisabled }
}

extension HistoryPage {
    func addingRemoteError(_ error: ChatError) -> HistoryPage {
        var page = self
        page.remoteError = error
        return page
    }
}

extension Anchor {
    /// An anchor toward newer messages after a sequence number, or from the oldest message if the number is 0.
    static func after(place seq: Seq) -> Anchor {
        seq > 0 ? .after(.seq(seq)) : .earliest
    }
}
