import Foundation
import GRDB
import GRDBSQLite
import ScrollbackModel

extension DatabaseError {
    /// What the engine hears of it.
    ///
    /// - Parameter database: where it happened, which knows more about it until it is used again.
    func chatError(on database: Database? = nil, _ message: String) -> ChatError {
        isOutOfSpace(database)
            ? ChatError(.storageFull, "the server's disk is full; nothing was stored", retryAfter: 5, cause: self)
            : ChatError(.internalError, message, cause: self)
    }

    /// Whether there was no room.
    ///
    /// SQLite says so itself for most writes, and "I/O error" for a few, such as fsync, or where a quota or a limit on a
    /// file's size is what ran out.
    func isOutOfSpace(_ database: Database?) -> Bool {
        switch resultCode {
        case .SQLITE_FULL: true
        case .SQLITE_IOERR:
            database.map { Self.meansOutOfSpace(sqlite3_system_errno($0.sqliteConnection)) } ?? false
        default: false
        }
    }

    static func meansOutOfSpace(_ systemError: CInt) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(systemError) }
}

extension SQLiteStore {
    /// Runs what may fail in SQLite; what else `body` throws passes as it is.
    func translatingErrors<Answer>(
        on database: Database? = nil, _ message: String = "the store failed", _ body: () throws -> Answer
    ) throws -> Answer {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw error.chatError(on: database, message)
        }
    }
}
