import GRDB

extension SQLiteStore {
    /// What somebody takes out of their list, or marks as unread there, and what the list is sorted by.
    static func extendRecents(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE member ADD COLUMN removedSeq INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE member ADD COLUMN roamSeq INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE member ADD COLUMN markedRev INTEGER NOT NULL DEFAULT 0;

                ALTER TABLE conversation ADD COLUMN recentSeq INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE conversation ADD COLUMN recentTime INTEGER NOT NULL DEFAULT 0;
                -- Of messages that the list passes over (8) not many lie in a row.
                UPDATE conversation SET (recentSeq, recentTime) = (
                    SELECT seq, timetoken FROM message WHERE conversation = number AND flags & 8 = 0
                    ORDER BY seq DESC LIMIT 1)
                WHERE EXISTS (SELECT 1 FROM message WHERE conversation = number AND flags & 8 = 0);
                """)
    }
}
