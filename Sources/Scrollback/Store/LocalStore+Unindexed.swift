import GRDB
import ScrollbackModel
import ScrollbackSearch
import ScrollbackWords
import StoreFiles

/// A run of places whose rows may have changed since they were indexed.
struct UnindexedRun: Sendable {
    var id: Int64
    var conversation: Int64
    var places: SeqRange
}

/// Rows of such a run as they are now, to be made the only ones there.
struct IndexingStep: Sendable {
    var run: UnindexedRun
    /// What was read of the run, from its newest place down.
    var places: SeqRange
    var rows: [SearchRow]
    /// What is left of the run for later.
    var rest: SeqRange? {
        run.places.lowerBound < places.lowerBound ? run.places.lowerBound...(places.lowerBound - 1) : nil
    }

    /// Leaves what lies below a place for later.
    mutating func cut(at lowest: Seq) {
        guard lowest > places.lowerBound else { return }
        places = min(lowest, places.upperBound)...places.upperBound
        rows.removeAll { $0.seq < places.lowerBound }
    }
}

/// How far the index is: which one it is, and how many steps it was told of.
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

    /// The last run that was noted.
    func lastUnindexed() throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(id) FROM unindexed"))
    }

    /// What is to be indexed next: what changed last first, about as many messages as the limit.
    ///
    /// - Parameters:
    ///   - last: the last run to be looked at.
    ///   - conversation: the only one to be looked at.
    func indexingSteps(through last: Int64, of conversation: Int64?, limit: Int) throws -> [IndexingStep] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, conversation, lower, upper FROM unindexed
                WHERE id <= ?1 AND (?2 IS NULL OR conversation = ?2) ORDER BY id DESC LIMIT ?3
                """)
        let runs = try Row.fetchAll(statement, arguments: [last, conversation, limit]).map { row in
            UnindexedRun(id: row[0], conversation: row[1], places: (row[2] as Int64)...(row[3] as Int64))
        }
        var steps: [IndexingStep] = []
        var room = limit
        for run in runs where room > 0 {
            let rows = try searchRows(run, limit: room)
            var step = IndexingStep(run: run, places: run.places, rows: rows)
            if rows.count == room, let last = rows.last { step.cut(at: last.seq) }
            steps.append(step)
            room -= rows.count
        }
        return steps
    }

    private func searchRows(_ run: UnindexedRun, limit: Int) throws -> [SearchRow] {
        var rows: [SearchRow] = []
        let name = try String.fetchOne(
            db.cachedStatement(sql: "SELECT id FROM conversation WHERE number = ?"), arguments: [run.conversation])
        // Of a conversation that is gone there are no rows.
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
                id.flatMap { SearchableText.of(sealing?.open(content, in: conversation, $0, by: sender)) }
            }
            rows.append(SearchRow(seq: seq, time: Timetoken(rawValue: time), text: text))
            return true
        }
        return rows
    }

    /// The message at a place of the index, if it still is there.
    func message(at place: SearchPlace) throws -> Message? {
        let known = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT id, epoch FROM conversation WHERE number = ? AND epoch IS NOT NULL"),
            arguments: [place.conversation])
        guard let known else { return nil }
        return try message(
            at: place.seq, number: place.conversation, in: ConversationID(known[0] as String),
            epoch: Epoch(rawValue: UInt64(bitPattern: known[1])))
    }

    /// How many runs wait to be indexed.
    package func unindexedCount() throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM unindexed") ?? 0
    }
}

extension LocalWriter {
    /// Has everything looked at again where other keys were given than the last time: words that can be read now are found
    /// from then on, and others no more.
    func noteKeys(of cipher: MessageCipher?) throws {
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

    /// Has places looked at again by whoever indexes, in the transaction that changed them.
    ///
    /// Where there is no index yet nothing is noted: it begins with everything.
    func markUnindexed(_ places: SeqRangeSet, in conversation: Int64) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO unindexed (conversation, lower, upper)
                SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'search')
                """)
        for range in places.ranges {
            try statement.execute(arguments: [conversation, range.lowerBound, range.upperBound])
        }
    }

    /// Forgets what was indexed, after the index has it.
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

    /// Has everything looked at again.
    func indexEverything(_ state: IndexingState) throws {
        try markAllUnindexed()
        try save(state)
    }

    /// Forgets that there is an index.
    func forgetIndex() throws {
        try db.execute(sql: "DELETE FROM meta WHERE key = 'search'")
        try db.execute(sql: "DELETE FROM unindexed")
    }

    private func save(_ state: IndexingState) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO meta VALUES ('search', ?)")
            .execute(arguments: ["\(state.identity) \(state.steps)"])
    }
}
