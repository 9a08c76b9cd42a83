import GRDB
package import ScrollbackModel
package import ScrollbackWords

/// A message's text as it is to be found.
package struct SearchRow: Sendable {
    package var seq: Seq
    package var time: Timetoken
    /// Nothing where there is no text, or none any more.
    package var text: String?

    package init(seq: Seq, time: Timetoken, text: String?) {
        self.seq = seq
        self.time = time
        self.text = text
    }
}

/// A transaction of the index under way.
///
/// Every change says how things are and not how they change, so it can be made again.
package struct SearchWriter {
    private let database: Database
    /// The questions, which see what was changed.
    package let reader: SearchReader

    init(database: Database) {
        self.database = database
        reader = SearchReader(database: database)
    }

    /// Makes these the only rows of a run of places.
    package func replace(_ scope: SearchScope, with rows: [SearchRow]) throws {
        var stale = try entries(SearchKey.keys(scope))
        for row in rows where scope.places.contains(row.seq) {
            let key = SearchKey.key(scope.conversation, row.seq)
            try put(row, key, over: stale.removeValue(forKey: key))
        }
        for (key, entry) in stale { try remove(key, entry) }
    }

    /// Adds rows, or replaces those that are there.
    package func put(_ rows: [SearchRow], in conversation: Int64) throws {
        for row in rows {
            let key = SearchKey.key(conversation, row.seq)
            try put(row, key, over: try entries(key...key)[key])
        }
    }

    /// Removes the newest rows of a run of places.
    ///
    /// - Returns: whether that were all.
    @discardableResult
    package func remove(_ scope: SearchScope, limit: Int = .max) throws -> Bool {
        let found = try entries(SearchKey.keys(scope), limit: limit)
        for (key, entry) in found { try remove(key, entry) }
        return found.count < limit
    }

    /// How far a conversation is indexed; nothing begins it anew.
    package func setProgress(_ progress: SearchProgress?, of conversation: Int64) throws {
        if let progress {
            try database.cachedStatement(sql: "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?)").execute(
                arguments: [conversation, Int64(bitPattern: progress.epoch.rawValue), progress.seq, progress.rev])
        } else {
            try database.cachedStatement(sql: "DELETE FROM progress WHERE conversation = ?")
                .execute(arguments: [conversation])
        }
    }

    /// How far the whole store is indexed, by a number of whoever fills the index.
    package func setWatermark(_ watermark: Int64) throws {
        try database.cachedStatement(sql: "UPDATE meta SET value = ? WHERE key = 'watermark'")
            .execute(arguments: [watermark])
    }

    /// What is wrong with the index: nothing, as long as FTS5's tables say the same as the words kept beside them.
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
        let words = row.text.map { Words($0).stream } ?? ""
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
