import GRDB
package import ScrollbackModel
package import ScrollbackWords

/// How far a conversation is indexed.
package struct SearchProgress: Hashable, Sendable {
    /// The log it is indexed of.
    package var epoch: Epoch
    /// Everything up to here.
    package var seq: Seq
    /// Every change up to here.
    package var rev: Int64

    package init(epoch: Epoch, seq: Seq, rev: Int64) {
        self.epoch = epoch
        self.seq = seq
        self.rev = rev
    }
}

/// The questions asked of one snapshot of the index.
package struct SearchReader {
    let database: Database

    /// How far a conversation is indexed; nothing where it has not begun.
    package func progress(of conversation: Int64) throws -> SearchProgress? {
        let statement = try database.cachedStatement(
            sql: "SELECT epoch, seq, rev FROM progress WHERE conversation = ?")
        return try Row.fetchOne(statement, arguments: [conversation]).map { row in
            SearchProgress(epoch: Epoch(rawValue: UInt64(bitPattern: row[0])), seq: row[1], rev: row[2])
        }
    }

    /// How far the whole store is indexed, by a number of whoever fills the index; 0 at first.
    package func watermark() throws -> Int64 {
        try Int64.fetchOne(database.cachedStatement(sql: "SELECT value FROM meta WHERE key = 'watermark'")) ?? 0
    }

    /// How many messages have words.
    package func count() throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM entry") ?? 0
    }

    /// The lowest of the newest rows of a run of places, if there are that many.
    package func lowest(ofNewest count: Int, in scope: SearchScope) throws -> Seq? {
        let keys = SearchKey.keys(scope)
        let statement = try database.cachedStatement(
            sql: "SELECT key FROM entry WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1 OFFSET ?")
        return try Int64.fetchOne(statement, arguments: [keys.lowerBound, keys.upperBound, count - 1])
            .map(SearchKey.seq)
    }
}
