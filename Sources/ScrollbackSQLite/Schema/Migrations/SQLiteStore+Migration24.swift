import GRDB

extension SQLiteStore {
    /// The tables that schema 24 renames.
    package static let renamedTables = [
        (old: "user", new: "person"), (old: "retired", new: "messageKey"), (old: "void", new: "deletedRange"),
        (old: "guest", new: "participant"), (old: "pushPerson", new: "pushUser"), (old: "pushReach", new: "pushLevel"),
    ]

    /// The columns that schema 24 renames, with the new names of their tables.
    package static let renamedColumns: [(table: String, old: String, new: String)] =
        [
            (table: "conversation", old: "n", new: "countedIndex"),
            (table: "conversation", old: "moved", new: "lastCommit"),
            (table: "conversation", old: "floorN", new: "floorCountedIndex"),
            (table: "conversation", old: "hasVoids", new: "hasDeletedRanges"),
            (table: "conversation", old: "marks", new: "flags"),
            (table: "message", old: "n", new: "countedIndex"),
            (table: "messageKey", old: "n", new: "countedIndex"),
            (table: "member", old: "joinN", new: "joinCountedIndex"),
            (table: "member", old: "readN", new: "readCountedIndex"),
            (table: "member", old: "clearN", new: "clearCountedIndex"),
            (table: "member", old: "hasVoids", new: "hasDeletedRanges"),
            (table: "member", old: "roamSeq", new: "newDeviceFloor"),
            (table: "threadState", old: "readN", new: "readCountedIndex"),
            (table: "upload", old: "offset", new: "received"),
        ]
        + [
            "audit", "ban", "bits", "block", "cancelled", "deletedRange", "draft", "erasure", "incomingWebhook",
            "invitation", "member", "mention", "mute", "participant", "presence", "pushDevice", "pushLevel",
            "pushRetry", "pushUser", "receipt", "scheduled", "span", "threadState", "usage",
        ].map { (table: $0, old: "user", new: "userID") }

    /// Gives the tables and columns the names that PostgreSQL's have.
    ///
    /// SQLite changes only the schema, in which it also renames them in keys, checks and indexes. The names of large
    /// indexes stay: another name would mean building the index again.
    static func renameTablesAndColumns(_ database: Database) throws {
        for (old, new) in renamedTables { try database.execute(sql: "ALTER TABLE \(old) RENAME TO \(new)") }
        for (table, old, new) in renamedColumns {
            try database.execute(sql: "ALTER TABLE \(table) RENAME COLUMN \(old) TO \(new)")
        }
        try database.execute(
            sql: """
                DROP INDEX user_state;
                CREATE INDEX person_state ON person (state, id) WHERE state <> 0;
                UPDATE meta SET name = 'lastCommit' WHERE name = 'moved';
                """)
    }
}
