import GRDB
import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
import SQLiteSupport

/// A range of sequence numbers whose rows may have changed since they were indexed.
struct UnindexedRange: Sendable {
    var id: Int64
    var conversation: Int64
    var places: SeqRange
}

/// The current rows of a range, which replace the range's entries in the search index.
struct IndexingStep: Sendable {
    var run: UnindexedRange
    /// The part of the range that was read, starting from its newest end.
    var places: SeqRange
    var rows: [SearchRow]
    /// The part of the range that remains for a later step.
    var rest: SeqRange? {
        run.places.lowerBound < places.lowerBound ? run.places.lowerBound...(places.lowerBound - 1) : nil
    }

    /// Moves everything below a sequence number to a later step.
    mutating func cut(at lowest: Seq) {
        guard lowest > places.lowerBound else { return }
        places = min(lowest, places.upperBound)...places.upperBound
        rows.removeAll { $0.seq < places.lowerBound }
    }
}

/// The state of the search index: its identity, and the number of steps written to it.
struct IndexingState: Hashable, Sendable {
    var identity: Int64
    var steps: Int64
}

extension LocalReader {
    func indexingState() throws -> IndexingState? {
        let text = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'search'")
        let numbers = text?.split(separator: " ").compactMap { Int64($0) } ?? []
        return numbers.count == 2 ? IndexingState(identity: numbers[0], steps: numbers[1]) : nil
    }

    /// Returns the ID of the last recorded range.
    func lastUnindexedID() throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(id) FROM unindexed"))
    }

    /// Returns the next steps, the most recently changed rows first, with at most about `limit` messages.
    ///
    /// - Parameters:
    ///   - last: The ID of the last range to include.
    ///   - conversation: The only conversation to include; `nil` for all.
    func indexingSteps(through last: Int64, of conversation: Int64?, limit: Int) throws -> [IndexingStep] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, conversation, lower, upper FROM unindexed
                WHERE id <= ?1 AND (?2 IS NULL OR conversation = ?2) ORDER BY id DESC LIMIT ?3
                """)
        let runs = try Row.fetchAll(statement, arguments: [last, conversation, limit]).map { row in
            UnindexedRange(id: row[0], conversation: row[1], places: (row[2] as Int64)...(row[3] as Int64))
        }
        var steps: [IndexingStep] = []
        var remaining = limit
        for run in runs where remaining > 0 {
            let rows = try searchRows(run, limit: remaining)
            var step = IndexingStep(run: run, places: run.places, rows: rows)
            if rows.count == remaining, let last = rows.last { step.cut(at: last.seq) }
            steps.append(step)
            remaining -= rows.count
        }
        return steps
    }

    private func searchRows(_ run: UnindexedRange, limit: Int) throws -> [SearchRow] {
        var rows: [SearchRow] = []
        let name = try String.fetchOne(
            db.cachedStatement(sql: "SELECT id FROM conversation WHERE number = ?"), arguments: [run.conversation])
        // A deleted conversation has no rows.
        guard let conversation = try name.map({ try ConversationID($0) }) else { return [] }
        try self.run(
            """
            SELECT seq, timetoken, type, content, id, sender FROM message
            WHERE conversation = ? AND seq BETWEEN ? AND ?
            ORDER BY seq DESC LIMIT ?
            """
        ) {
            $0.add(run.conversation)
            $0.add(run.places.lowerBound)
            $0.add(run.places.upperBound)
            $0.add(Int64(limit))
        } row: { row in
            let (seq, time, type) = (row.integer(), row.bits(), MessageType(rawValue: row.text()))
            let content = try row.optionalText("content", of: .message(run.conversation, seq))
                .map { MessageContent(known: type, json: RawJSON(known: $0)) }
            let (id, sender) = (row.optionalUUID().map { MessageID($0) }, UserID(known: row.text()))
            let text = content.flatMap { content in
                id.flatMap { SearchableText.of(messageEncryption?.open(content, in: conversation, $0, by: sender)) }
            }
            rows.append(SearchRow(seq: seq, time: Timetoken(rawValue: time), text: text))
            return true
        }
        return rows
    }

    /// Returns the message of an index entry, if it still exists.
    func message(at place: IndexPosition) throws -> Message? {
        let known = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT id, epoch FROM conversation WHERE number = ? AND epoch IS NOT NULL"),
            arguments: [place.conversation])
        guard let known else { return nil }
        return try message(
            at: place.seq, number: place.conversation, in: ConversationID(known[0] as String),
            epoch: Epoch(rawValue: UInt64(bitPattern: known[1])))
    }

    /// Returns the number of ranges that are not indexed yet.
    package func unindexedCount() throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM unindexed") ?? 0
    }
}

extension LocalWriter {
    /// Schedules everything for indexing if the encryption keys changed since the last time.
    ///
    /// Messages that became readable can then be found, and unreadable ones no longer can.
    func recordKeys(of cipher: MessageCipher?) throws {
        let known = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'cipher'") ?? ""
        let given = cipher?.fingerprint ?? ""
        guard given != known else { return }
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('cipher', ?)", arguments: [given])
        try markAllUnindexed()
    }

    private func markAllUnindexed() throws {
        try db.execute(sql: "DELETE FROM unindexed")
        try db.execute(
            sql: "INSERT INTO unindexed (conversation, lower, upper) SELECT number, 1, ? FROM conversation",
            arguments: [SearchKey.lastSeq])
    }

    /// Schedules ranges for indexing, in the transaction that changed them.
    ///
    /// Has no effect if there is no index yet, because a new index starts with everything.
    func markUnindexed(_ places: SeqRangeSet, in conversation: Int64) throws {
        for range in places.ranges {
            try reader.run(
                """
                INSERT INTO unindexed (conversation, lower, upper)
                SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'search')
                """
            ) {
                $0.add(conversation)
                $0.add(range.lowerBound)
                $0.add(range.upperBound)
            }
        }
    }

    /// Deletes the ranges that the index now contains.
    func finish(_ steps: [IndexingStep], _ state: IndexingState) throws {
        for step in steps {
            if let rest = step.rest {
                try db.cachedStatement(sql: "UPDATE unindexed SET upper = ? WHERE id = ?")
                    .execute(arguments: [rest.upperBound, step.run.id])
            } else {
                try db.cachedStatement(sql: "DELETE FROM unindexed WHERE id = ?").execute(arguments: [step.run.id])
            }
        }
        try save(state)
    }

    /// Schedules everything for indexing.
    func indexEverything(_ state: IndexingState) throws {
        try markAllUnindexed()
        try save(state)
    }

    /// Deletes the record of the index.
    func deleteIndexRecord() throws {
        try db.execute(sql: "DELETE FROM meta WHERE key = 'search'")
        try db.execute(sql: "DELETE FROM unindexed")
    }

    private func save(_ state: IndexingState) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO meta VALUES ('search', ?)")
            .execute(arguments: ["\(state.identity) \(state.steps)"])
    }
}
