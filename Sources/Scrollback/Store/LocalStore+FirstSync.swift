import GRDB
package import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// The first sync pass of a new device, which fetches the top of the list first and the rest window by window.
extension LocalReader {
    /// Returns the unread totals of conversations that a new device has not fetched yet, or `nil` if it has all of
    /// them.
    func remainingTotals() throws -> UnreadTotals? {
        guard let text = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'totals'") else { return nil }
        var reader = JSONReader(text)
        return try UnreadTotals(from: &reader)
    }

    /// Returns whether a head of the conversation was ever stored.
    fileprivate func hadHead(of id: ConversationID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT lastCommit > 0 FROM conversation WHERE id = ?"),
            arguments: [id.description])
            ?? false
    }

    /// Returns the sequence number before a conversation's newest messages, or `nil` if none of them are missing.
    ///
    /// - Parameter count: The number of newest messages, not counting those that new devices must not download.
    package func seqBeforeMissing(among count: Int, of id: ConversationID) throws -> Seq? {
        guard let local = try localLog(of: id) else { return nil }
        let log = local.state
        let newDeviceFloor = try Seq.fetchOne(
            db.cachedStatement(sql: "SELECT newDeviceFloor FROM conversation WHERE number = ?"),
            arguments: [local.number])
        let place = max(log.firstSeq - 1, newDeviceFloor ?? 0, log.head - Seq(count))
        return place < log.head && log.gaps.intersects(place + 1...log.head) ? place : nil
    }

    /// Returns the time up to which all conversations of a kind were marked as read while the list was incomplete.
    fileprivate func readAllTime(of kind: ConversationKind) throws -> Timetoken? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT max(CAST(value AS INTEGER)) FROM meta WHERE key IN (?, ?)"),
            arguments: [Self.readAllKey(of: nil), Self.readAllKey(of: kind)]
        ).map { Timetoken(rawValue: UInt64(bitPattern: $0)) }
    }

    fileprivate static func readAllKey(of kind: ConversationKind?) -> String {
        "readAll:\(kind?.rawValue ?? "")"
    }
}

extension LocalWriter {
    /// Stores heads, and the unread totals of conversations whose heads have not been fetched yet.
    ///
    /// - Parameter totals: The totals of all conversations, which the server sends with the first window.
    package func store(
        _ heads: [ConversationHead], totals: UnreadTotals?, isLastWindow: Bool
    ) throws -> [LogOutcome] {
        let isNew = try !reader.hasCompletedSync()
        // Messages that arrived before the head are already counted.
        let unknown = isNew ? try heads.filter { try !reader.hadHead(of: $0.conversation) } : []
        let counted = try unknown.map { try reader.recent($0.conversation) }
        let outcomes = try apply(heads.map { .head($0) })
        guard isNew else { return outcomes }
        if let totals {
            try saveRemaining(totals.adding(reader.knownTotals(), times: -1))
        } else if let remaining = try reader.remainingTotals() {
            let brought = try zip(unknown, counted).reduce(into: UnreadTotals()) { sum, row in
                let (head, before) = row
                guard let entry = try reader.recent(head.conversation), head.isMember else { return }
                sum.add(
                    entry.unread - (before?.unread ?? 0), mentions: entry.mentions - (before?.mentions ?? 0),
                    kind: entry.id.kind, isMuted: entry.isMuted)
            }
            try saveRemaining(remaining.adding(brought, times: -1))
        }
        for head in unknown where head.unread > 0 || head.mentions > 0 || head.isMarkedUnread {
            if let time = try reader.readAllTime(of: head.conversation.kind), head.recentTime ?? time <= time {
                _ = try markRead(head.conversation, upTo: nil)
            }
        }
        if isLastWindow {
            let marks = LocalReader.readAllKey(of: nil)
            try db.execute(sql: "DELETE FROM meta WHERE key = 'totals' OR key GLOB '\(marks)*'")
        }
        return outcomes
    }

    /// Marks all conversations as read, or all of one kind.
    ///
    /// - Parameter time: The current time. Conversations that a new device has not fetched yet are marked as read up to
    ///   it.
    package func markAllRead(of kind: ConversationKind?, at time: Timetoken) throws {
        for id in try reader.unreadConversations(of: kind) { _ = try markRead(id, upTo: nil) }
        guard try !reader.hasCompletedSync() else { return }
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            arguments: [LocalReader.readAllKey(of: kind), String(Int64(bitPattern: time.rawValue))])
        if var remaining = try reader.remainingTotals() {
            remaining.read(kind)
            try saveRemaining(remaining)
        }
    }

    private func saveRemaining(_ remaining: UnreadTotals) throws {
        var writer = JSONWriter()
        remaining.positive.write(to: &writer)
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('totals', ?)", arguments: [writer.text])
    }
}

extension UnreadTotals {
    /// Resets the unread counts of one kind or of all kinds.
    ///
    /// Mentions are not counted by kind, so they stay for one kind.
    fileprivate mutating func read(_ kind: ConversationKind?) {
        guard let kind else { return self = UnreadTotals() }
        unmuted[kind] = nil
        muted[kind] = nil
    }

    /// The totals without negative counts, which result from reading messages while windows are in flight.
    fileprivate var positive: UnreadTotals {
        var totals = self
        totals.unmuted = unmuted.filter { $0.value > 0 }
        totals.muted = muted.filter { $0.value > 0 }
        totals.mentions = max(0, mentions)
        return totals
    }
}
