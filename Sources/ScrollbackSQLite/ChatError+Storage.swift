import Foundation
import GRDB
import GRDBSQLite
import ScrollbackModel

extension DatabaseError {
    /// Converts a SQLite error for the engine.
    ///
    /// - Parameter database: The connection of the error, which has details until its next use.
    func chatError(on database: Database? = nil, _ message: String) -> ChatError {
        isOutOfSpace(database)
            ? ChatError(.storageFull, "The server's disk is full; nothing was stored.", retryAfter: 5, cause: self)
            : ChatError(.internalError, message, cause: self)
    }

    /// Returns whether the disk was full.
    ///
    /// SQLite reports most such errors as full. For some, such as a failed fsync or an exceeded quota or file size
    /// limit, it reports an I/O error.
    func isOutOfSpace(_ database: Database?) -> Bool {
        switch resultCode {
        case .SQLITE_FULL: true
        case .SQLITE_IOERR:
            database.map { Self.indicatesOutOfSpace(sqlite3_system_errno($0.sqliteConnection)) } ?? false
        default: false
        }
    }

    static func indicatesOutOfSpace(_ systemError: CInt) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(systemError) }
}

extension SQLiteStore {
    /// Runs `body` and converts SQLite errors; other errors pass unchanged.
    func translatingErrors<Answer>(
        on database: Database? = nil, _ message: String = "The store failed.", _ body: () throws -> Answer
    ) throws -> Answer {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw error.chatError(on: database, message)
        }
    }
}
