import GRDB

extension SQLiteStore {
    /// Replaces the checks of the form `IN (0, 1, 2)` with ranges.
    ///
    /// For a list of three or more values, SQLite builds a temporary index at each write. This took half the time of
    /// storing a read position. SQLite can't change a check, so the tables are copied.
    static func replaceListsInChecks(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE membership (
                    userID TEXT NOT NULL,
                    conversation INTEGER NOT NULL,
                    standing INTEGER NOT NULL CHECK (standing BETWEEN 0 AND 2),
                    role TEXT NOT NULL,
                    joinSeq INTEGER NOT NULL,
                    joinCountedIndex INTEGER NOT NULL,
                    readSeq INTEGER NOT NULL,
                    readCountedIndex INTEGER NOT NULL,
                    clearSeq INTEGER NOT NULL,
                    clearCountedIndex INTEGER NOT NULL,
                    removedSeq INTEGER NOT NULL DEFAULT 0,
                    newDeviceFloor INTEGER NOT NULL DEFAULT 0,
                    isMuted INTEGER NOT NULL CHECK (isMuted IN (0, 1)),
                    isPinned INTEGER NOT NULL CHECK (isPinned IN (0, 1)),
                    isMarkedUnread INTEGER NOT NULL CHECK (isMarkedUnread IN (0, 1)),
                    markedRev INTEGER NOT NULL DEFAULT 0,
                    view INTEGER NOT NULL,
                    userRev INTEGER NOT NULL,
                    hasDeletedRanges INTEGER NOT NULL CHECK (hasDeletedRanges IN (0, 1)),
                    level TEXT,
                    PRIMARY KEY (userID, conversation)
                ) WITHOUT ROWID, STRICT;
                INSERT INTO membership (userID, conversation, standing, role, joinSeq, joinCountedIndex, readSeq,
                    readCountedIndex, clearSeq, clearCountedIndex, removedSeq, newDeviceFloor, isMuted, isPinned,
                    isMarkedUnread, markedRev, view, userRev, hasDeletedRanges, level)
                SELECT userID, conversation, standing, role, joinSeq, joinCountedIndex, readSeq,
                    readCountedIndex, clearSeq, clearCountedIndex, removedSeq, newDeviceFloor, isMuted, isPinned,
                    isMarkedUnread, markedRev, view, userRev, hasDeletedRanges, level
                FROM member ORDER BY userID, conversation;
                DROP TABLE member;
                ALTER TABLE membership RENAME TO member;
                CREATE INDEX member_conversation ON member (conversation, userID);

                CREATE TABLE stateOfThread (
                    conversation INTEGER NOT NULL,
                    userID TEXT NOT NULL,
                    thread BLOB NOT NULL,
                    following INTEGER NOT NULL CHECK (following BETWEEN 0 AND 2),
                    readSeq INTEGER NOT NULL,
                    readCountedIndex INTEGER NOT NULL,
                    userRev INTEGER NOT NULL,
                    PRIMARY KEY (conversation, userID, thread)
                ) WITHOUT ROWID, STRICT;
                INSERT INTO stateOfThread
                    (conversation, userID, thread, following, readSeq, readCountedIndex, userRev)
                SELECT conversation, userID, thread, following, readSeq, readCountedIndex, userRev
                FROM threadState ORDER BY conversation, userID, thread;
                DROP TABLE threadState;
                ALTER TABLE stateOfThread RENAME TO threadState;
                CREATE INDEX threadState_thread ON threadState (conversation, thread);
                """)
    }
}
