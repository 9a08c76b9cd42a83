import GRDB

extension SearchIndex {
    /// Makes the tables in a new file, and refuses a file of another format.
    ///
    /// - Returns: the index's identity.
    static func start(_ database: Database) throws -> Int64 {
        let found = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        if found == format {
            let identity = try Int64.fetchOne(database, sql: "SELECT value FROM meta WHERE key = 'identity'")
            guard let identity else { throw SearchIndexLost() }
            // Opens FTS5's own tables.
            _ = try Row.fetchOne(database, sql: "SELECT rowid FROM word WHERE word MATCH '\"##\"' LIMIT 1")
            return identity
        }
        guard found == 0, try Int64.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0 else {
            throw SearchIndexLost()
        }
        let identity = Int64.random(in: 1...(.max))
        // The words are kept beside the index over them: FTS5 takes a row out by the words it had. They are separated
        // already, so the tokenizer takes them apart at the spaces. Beginnings of up to three characters have an index of
        // their own: few letters begin many words. Only bm25() would need the sizes of columns.
        try database.execute(
            sql: """
                CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
                INSERT INTO meta VALUES ('identity', \(identity)), ('watermark', 0);
                CREATE TABLE progress (
                    conversation INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, seq INTEGER NOT NULL, rev INTEGER NOT NULL
                );
                CREATE TABLE entry (key INTEGER PRIMARY KEY, time INTEGER NOT NULL, words TEXT NOT NULL);
                CREATE VIRTUAL TABLE word USING fts5(
                    words, content = 'entry', content_rowid = 'key', columnsize = 0, prefix = '1 2 3',
                    tokenize = "ascii tokenchars '#*+'"
                );
                PRAGMA user_version = \(format);
                """)
        return identity
    }
}
