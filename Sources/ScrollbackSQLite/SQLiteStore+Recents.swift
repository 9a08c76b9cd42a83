import GRDB

extension SQLiteStore {
    /// Adds removal from recents, unread markers and the sort key of recents.
    static func addRecentsColumns(_ database: Database) throws {
        try database.execute(
            sql: """
                -- By user first: listing reads all rows of a user, which is more frequent than reading all members of a
                -- conversation.
                CREATE TABLE membership (
                    user TEXT NOT NULL,
                    conversation INTEGER NOT NULL,
                    standing INTEGER NOT NULL CHECK (standing IN (0, 1, 2)),
                    role TEXT NOT NULL,
                    joinSeq INTEGER NOT NULL,
                    joinN INTEGER NOT NULL,
                    readSeq INTEGER NOT NULL,
                    readN INTEGER NOT NULL,
                    clearSeq INTEGER NOT NULL,
                    clearN INTEGER NOT NULL,
                    removedSeq INTEGER NOT NULL DEFAULT 0,
                    roamSeq INTEGER NOT NULL DEFAULT 0,
                    isMuted INTEGER NOT NULL CHECK (isMuted IN (0, 1)),
                    isPinned INTEGER NOT NULL CHECK (isPinned IN (0, 1)),
                    isMarkedUnread INTEGER NOT NULL CHECK (isMarkedUnread IN (0, 1)),
                    markedRev INTEGER NOT NULL DEFAULT 0,
                    view INTEGER NOT NULL,
                    userRev INTEGER NOT NULL,
                    hasVoids INTEGER NOT NULL CHECK (hasVoids IN (0, 1)),
                    PRIMARY KEY (user, conversation)
                ) WITHOUT ROWID, STRICT;
                INSERT INTO membership (user, conversation, standing, role, joinSeq, joinN, readSeq, readN, clearSeq,
                    clearN, isMuted, isPinned, isMarkedUnread, view, userRev, hasVoids)
                SELECT user, conversation, standing, role, joinSeq, joinN, readSeq, readN, clearSeq,
                    clearN, isMuted, isPinned, isMarkedUnread, view, userRev, hasVoids
                FROM member ORDER BY user, conversation;
                DROP TABLE member;
                ALTER TABLE membership RENAME TO member;
                CREATE INDEX member_conversation ON member (conversation, user);

                ALTER TABLE conversation ADD COLUMN recentSeq INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE conversation ADD COLUMN recentTime INTEGER NOT NULL DEFAULT 0;
                -- Long runs of messages that don't update recents (8) are rare.
                UPDATE conversation SET (recentSeq, recentTime) = (
                    SELECT seq, timetoken FROM message WHERE conversation = number AND flags & 8 = 0
                    ORDER BY seq DESC LIMIT 1)
                WHERE EXISTS (SELECT 1 FROM message WHERE conversation = number AND flags & 8 = 0);
                """)
    }
}
