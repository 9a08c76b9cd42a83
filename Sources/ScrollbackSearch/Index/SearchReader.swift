import GRDB
package import ScrollbackModel
package import TextAnalysis

/// The indexing progress of a conversation.
package struct SearchProgress: Hashable, Sendable {
    /// The log that was indexed.
    package var epoch: Epoch
    /// The sequence number up to which all messages are indexed.
    package var seq: Seq
    /// The revision up to which all changes are indexed.
    package var rev: Int64

    package init(epoch: Epoch, seq: Seq, rev: Int64) {
        self.epoch = epoch
        self.seq = seq
        self.rev = rev
    }
}

/// Queries on one snapshot of the index.
package struct SearchReader {
    let database: Database
    var deadline: WorkDeadline?

    /// Returns the indexing progress of a conversation; `nil` if indexing has not started.
    package func progress(of conversation: Int64) throws -> SearchProgress? {
        let statement = try database.cachedStatement(
            sql: "SELECT epoch, seq, rev FROM progress WHERE conversation = ?")
        return try Row.fetchOne(statement, arguments: [conversation]).map { row in
            SearchProgress(epoch: Epoch(rawValue: UInt64(bitPattern: row[0])), seq: row[1], rev: row[2])
        }
    }

    /// Returns the indexing progress of the whole store, as a number that the caller defined; initially 0.
    package func watermark() throws -> Int64 {
        try Int64.fetchOne(database.cachedStatement(sql: "SELECT value FROM meta WHERE key = 'watermark'")) ?? 0
    }

    /// Returns the number of messages in the index.
    package func count() throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM entry") ?? 0
    }

    /// Returns the sequence number of the row at position `count` from the newest in a scope, if it exists.
    package func lowest(ofNewest count: Int, in scope: SearchScope) throws -> Seq? {
        let keys = SearchKey.keys(scope)
        let statement = try database.cachedStatement(
            sql: "SELECT key FROM entry WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1 OFFSET ?")
        return try Int64.fetchOne(statement, arguments: [keys.lowerBound, keys.upperBound, count - 1])
            .map(SearchKey.seq)
    }
}
