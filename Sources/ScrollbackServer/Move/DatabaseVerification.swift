import Foundation
import ScrollbackModel
import ScrollbackPostgres
package import ScrollbackSQLite
import SQLiteSupport

/// Checks a PostgreSQL database by the rules for SQLite files: it copies one state of the database to a temporary file.
package struct DatabaseVerification {
    /// The URL of the database.
    package var storeURL: String

    package init(of storeURL: String) {
        self.storeURL = storeURL
    }

    package enum Step: String, Sendable {
        case copyingRows = "copying rows"
        case checking = "checking"
    }

    /// Receives the number of rows or conversations that a step has processed, and their total.
    package typealias Progress = (_ step: Step, _ done: Int64, _ total: Int64) -> Void

    /// Returns the violations.
    ///
    /// Servers can use the database at the same time.
    ///
    /// - Parameters:
    ///   - blobSize: Returns the size of a blob in bytes; `nil` skips the check of blobs.
    ///   - progress: Called regularly with the progress.
    /// - Throws: `invalid-parameter` if the database can't be used; `storage-full` if the temporary folder has no room
    ///   for the copy.
    package func run(blobSize: BlobSize?, progress: Progress) throws -> [String] {
        let snapshot = try PostgresSnapshot(PostgresURL(storeURL))
        let folder = FileManager.default.temporaryDirectory.appending(
            component: "scrollback-verify-\(UUID().uuidString)")
        try PrivateFiles.createDirectory(folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = try SQLiteStore(directory: folder)
        let total = try snapshot.storedRowCount(of: snapshot.storedTables())
        try copy.fill(from: snapshot) { progress(.copyingRows, $0, total) }
        try copy.close()
        return try SQLiteStore.verify(file: folder.appending(component: SQLiteStore.fileName), blobSize: blobSize) {
            progress(.checking, $0.conversations, $0.totalConversations)
        }.findings
    }
}
