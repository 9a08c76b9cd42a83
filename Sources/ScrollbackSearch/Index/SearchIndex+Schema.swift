import GRDB

extension SearchIndex {
    /// Creates the tables in a new file, or opens an existing file.
    ///
    /// - Returns: The index's identity.
    /// - Throws: ``SearchIndexReset`` if the file has another format.
    static func prepareSchema(_ database: Database) throws -> Int64 {
        let found = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        if found == format {
            let identity = try Int64.fetchOne(database, sql: "SELECT value FROM meta WHERE key = 'identity'")
            guard let identity else { throw SearchIndexReset() }
            // Opens the tables of FTS5.
            _ = try Row.fetchOne(database, sql: "SELECT rowid FROM word WHERE word MATCH '\"##\"' LIMIT 1")
            return identity
        }
        guard found == 0, try Int64.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0 else {
            throw SearchIndexReset()
        }
        let identity = Int64.random(in: 1...(.max))
        // The words are stored beside their FTS5 index, because FTS5 needs them to remove a row. The words are already
        // separated, so the tokenizer splits only at spaces. Prefixes of up to three characters have their own indexes,
        // because few letters match many words. Only bm25() would need the column sizes.
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
