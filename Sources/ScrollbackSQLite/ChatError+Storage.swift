import Foundation
import GRDB
import GRDBSQLite
import ScrollbackModel

extension ChatError {
    /// What the engine hears when SQLite failed; errors of the engine's own rules pass as they are.
    init(storage error: any Error, on database: Database? = nil, _ message: String) {
        if let error = error as? ChatError {
            self = error
        } else if let error = error as? DatabaseError, error.isOutOfSpace(database) {
            self.init(
                .storageFull, "the server's disk is full; nothing was stored", retryAfter: 5, cause: error)
        } else {
            self.init(.internalError, message, cause: error)
        }
    }
}

extension DatabaseError {
    /// Whether there was no room: SQLite says so itself for most writes, and "I/O error" for a few, such as fsync, or where
    /// a quota or a limit on a file's size is what ran out.
    fileprivate func isOutOfSpace(_ database: Database?) -> Bool {
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
    func translatingErrors<Answer>(_ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch {
            throw ChatError(storage: error, "the store failed")
        }
    }
}
