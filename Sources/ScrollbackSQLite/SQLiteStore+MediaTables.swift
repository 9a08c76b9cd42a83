import GRDB

extension SQLiteStore {
    /// Creates the tables of files, of references from messages to files, and of uploads.
    static func createMediaTables(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE media (
                    id BLOB NOT NULL PRIMARY KEY,
                    owner TEXT NOT NULL,
                    conversation TEXT NOT NULL,
                    type TEXT NOT NULL,
                    name TEXT,
                    mediaType TEXT NOT NULL,
                    size INTEGER NOT NULL,
                    blob BLOB NOT NULL CHECK (length(blob) = 32),
                    width INTEGER,
                    height INTEGER,
                    thumbnail BLOB CHECK (length(thumbnail) = 32),
                    thumbnailSize INTEGER,
                    thumbnailType TEXT,
                    thumbnailWidth INTEGER,
                    thumbnailHeight INTEGER,
                    createdAt REAL NOT NULL,
                    unusedSince REAL
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX media_blob ON media (blob);
                CREATE INDEX media_thumbnail ON media (thumbnail) WHERE thumbnail IS NOT NULL;
                CREATE INDEX media_createdAt ON media (createdAt);
                CREATE INDEX media_unusedSince ON media (unusedSince) WHERE unusedSince IS NOT NULL;

                CREATE TABLE mediaUse (
                    media BLOB NOT NULL,
                    conversation INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    PRIMARY KEY (media, conversation, seq)
                ) WITHOUT ROWID, STRICT;
                CREATE UNIQUE INDEX mediaUse_place ON mediaUse (conversation, seq, media);

                -- state 0: in progress; 1: completed, and the answer is kept for retries.
                CREATE TABLE upload (
                    id TEXT NOT NULL PRIMARY KEY,
                    media BLOB NOT NULL,
                    owner TEXT NOT NULL,
                    conversation TEXT NOT NULL,
                    type TEXT NOT NULL,
                    name TEXT,
                    length INTEGER,
                    expected BLOB,
                    offset INTEGER NOT NULL,
                    state INTEGER NOT NULL CHECK (state IN (0, 1)),
                    touchedAt REAL NOT NULL
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX upload_owner ON upload (owner) WHERE state = 0;
                CREATE INDEX upload_touchedAt ON upload (touchedAt);
                """)
    }
}
