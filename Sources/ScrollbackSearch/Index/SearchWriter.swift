import GRDB
package import ScrollbackModel
package import TextAnalysis

/// The searchable text of a message.
package struct SearchRow: Sendable {
    package var seq: Seq
    package var time: Timetoken
    /// The text; `nil` if the message has none or no longer has any.
    package var text: String?

    package init(seq: Seq, time: Timetoken, text: String?) {
        self.seq = seq
        self.time = time
        self.text = text
    }
}

/// A write transaction of the index.
///
/// All operations set absolute state, so they can be repeated.
package struct SearchWriter {
    private let database: Database
    /// A reader that sees the changes of this transaction.
    package let reader: SearchReader

    init(database: Database) {
        self.database = database
        reader = SearchReader(database: database)
    }

    /// Replaces all rows of a scope.
    package func replace(_ scope: SearchScope, with rows: [SearchRow]) throws {
        var stale = try entries(SearchKey.keys(scope))
        for row in rows where scope.range.contains(row.seq) {
            let key = SearchKey.key(scope.conversation, row.seq)
            try put(row, key, over: stale.removeValue(forKey: key))
        }
        for (key, entry) in stale { try remove(key, entry) }
    }

    /// Inserts or replaces rows.
    package func put(_ rows: [SearchRow], in conversation: Int64) throws {
        for row in rows {
            let key = SearchKey.key(conversation, row.seq)
            try put(row, key, over: try entries(key...key)[key])
        }
    }

    /// Removes the newest rows of a scope.
    ///
    /// - Returns: Whether all rows were removed.
    @discardableResult
    package func remove(_ scope: SearchScope, limit: Int = .max) throws -> Bool {
        let found = try entries(SearchKey.keys(scope), limit: limit)
        for (key, entry) in found { try remove(key, entry) }
        return found.count < limit
    }

    /// Sets the indexing progress of a conversation; `nil` restarts its indexing.
    package func setProgress(_ progress: SearchProgress?, of conversation: Int64) throws {
        if let progress {
            try database.cachedStatement(sql: "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?)").execute(
                arguments: [conversation, Int64(bitPattern: progress.epoch.rawValue), progress.seq, progress.rev])
        } else {
            try database.cachedStatement(sql: "DELETE FROM progress WHERE conversation = ?")
                .execute(arguments: [conversation])
        }
    }

    /// Sets the indexing progress of the whole store, as a number that the caller defines.
    package func setWatermark(_ watermark: Int64) throws {
        try database.cachedStatement(sql: "UPDATE meta SET value = ? WHERE key = 'watermark'")
            .execute(arguments: [watermark])
    }

    /// Returns the differences between the FTS5 tables and the stored words; empty for a consistent index.
    package func violations() throws -> [String] {
        var found = try String.fetchAll(database, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
        do {
            try database.execute(sql: "INSERT INTO word (word, rank) VALUES ('integrity-check', 1)")
        } catch {
            found.append("\(error)")
        }
        return found
    }

    // MARK: Rows

    private struct Entry {
        var time: Int64
        var words: String
    }

    private func entries(_ keys: ClosedRange<Int64>, limit: Int = .max) throws -> [Int64: Entry] {
        let statement = try database.cachedStatement(
            sql: "SELECT key, time, words FROM entry WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT ?")
        var found: [Int64: Entry] = [:]
        let rows = try Row.fetchCursor(statement, arguments: [keys.lowerBound, keys.upperBound, limit])
        while let row = try rows.next() { found[row[0]] = Entry(time: row[1], words: row[2]) }
        return found
    }

    private func put(_ row: SearchRow, _ key: Int64, over old: Entry?) throws {
        let words = row.text.map { TokenizedText($0).serialized } ?? ""
        let time = SearchKey.column(row.time)
        if let old {
            if old.words == words, old.time == time { return }
            try remove(key, old)
        }
        guard !words.isEmpty else { return }
        try database.cachedStatement(sql: "INSERT INTO entry (key, time, words) VALUES (?, ?, ?)")
            .execute(arguments: [key, time, words])
        try database.cachedStatement(sql: "INSERT INTO word (rowid, words) VALUES (?, ?)")
            .execute(arguments: [key, words])
    }

    private func remove(_ key: Int64, _ entry: Entry) throws {
        try database.cachedStatement(sql: "INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)")
            .execute(arguments: [key, entry.words])
        try database.cachedStatement(sql: "DELETE FROM entry WHERE key = ?").execute(arguments: [key])
    }
}
