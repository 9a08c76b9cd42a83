package import Foundation
package import ScrollbackModel

/// Writes backups of the server into a folder that the operator chose.
package protocol BackupWriter: Sendable {
    /// Starts a backup, and returns without waiting for its end.
    ///
    /// - Throws: `conflict` if another backup is running, or the server can't write backups.
    func start() throws(ChatError) -> BackupProgress

    /// Returns the running backup, the failure of the last one, and the newest backups.
    ///
    /// It may wait for the disk.
    ///
    /// - Throws: `conflict` if the server can't write backups.
    func list() throws(ChatError) -> BackupList
}

/// A server that can't write backups.
package struct NoBackupWriter: BackupWriter {
    private let error: ChatError

    /// - Parameter message: Why the server can't write backups, and what to do.
    package init(_ message: String = standardMessage) {
        error = ChatError(.conflict, message)
    }

    package static let standardMessage =
        "This server has no folder for backups. Start it with --backups, or use `scrollback backup`."

    package func start() throws(ChatError) -> BackupProgress { throw error }

    package func list() throws(ChatError) -> BackupList { throw error }
}

/// A backup that the server is writing.
package struct BackupProgress: Hashable, Sendable {
    /// The name of the backup's folder: the time of the start in UTC, such as `2026-11-29T023000Z`.
    package var name: String
    package var startedAt: Date
    /// The number of copied bytes of the database.
    ///
    /// When all are copied, the media files and the checksums follow.
    package var copiedBytes: Int64 = 0
    /// The size of the database in bytes, or `nil` until the copy begins.
    package var totalBytes: Int64?

    package init(name: String, startedAt: Date) {
        self.name = name
        self.startedAt = startedAt
    }
}

/// A complete backup.
package struct BackupSummary: Hashable, Sendable {
    package var name: String
    package var createdAt: Date
    /// The size of the database and the secrets in bytes, without media files.
    package var bytes: Int64
    package var conversations: Int64
    package var messages: Int64

    package init(name: String, createdAt: Date, bytes: Int64, conversations: Int64, messages: Int64) {
        self.name = name
        self.createdAt = createdAt
        self.bytes = bytes
        self.conversations = conversations
        self.messages = messages
    }
}

/// A backup that the server could not write.
package struct BackupFailure: Hashable, Sendable {
    package var name: String
    package var failedAt: Date
    /// The message of the error.
    package var error: String

    package init(name: String, failedAt: Date, error: String) {
        self.name = name
        self.failedAt = failedAt
        self.error = error
    }
}

/// The state of the folder for backups.
package struct BackupList: Hashable, Sendable {
    /// The number of backups that a list has at most.
    package static let maximum = 10

    package var running: BackupProgress?
    /// The failure of the last backup that ended since the server started, or `nil` if it succeeded.
    package var failure: BackupFailure?
    /// The newest backups, newest first.
    package var backups: [BackupSummary]
    /// Whether a backup contains the media files, which it does unless they are in an S3-compatible store.
    package var includesFiles: Bool

    package init(
        running: BackupProgress? = nil, failure: BackupFailure? = nil, backups: [BackupSummary] = [],
        includesFiles: Bool = true
    ) {
        self.running = running
        self.failure = failure
        self.backups = backups
        self.includesFiles = includesFiles
    }
}
