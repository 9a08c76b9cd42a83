import Foundation
package import GRDB
import GRDBSQLite

extension Statement {
    /// Runs a statement with SQLite's C functions and passes each row to `row`.
    ///
    /// For the few statements of a hot path, this takes half the time of GRDB's general arguments and rows.
    ///
    /// - Parameters:
    ///   - cipher: Encrypts and decrypts texts.
    ///   - bind: Binds the parameters.
    ///   - row: Returns whether to continue.
    ///   - failure: Returns the error to throw for SQLite's code and the system's error.
    package func run(
        cipher: StoreCipher? = nil, bind: (inout Parameters) -> Void = { _ in },
        row: (inout Columns) throws -> Bool = { _ in true },
        failure: (_ code: CInt, _ systemError: CInt) -> any Error
    ) throws {
        let pointer = sqliteStatement
        defer { sqlite3_reset(pointer) }
        var parameters = Parameters(pointer, cipher: cipher)
        bind(&parameters)
        if let failure = parameters.failure { throw failure }
        var columns = Columns(pointer, cipher: cipher)
        while true {
            errno = 0
            switch sqlite3_step(pointer) {
            case SQLITE_ROW:
                columns.rewind()
                guard try row(&columns) else { return }
            case SQLITE_DONE: return
            case let code: throw failure(code, errno)
            }
        }
    }
}
