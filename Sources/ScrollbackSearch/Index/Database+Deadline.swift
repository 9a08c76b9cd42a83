import GRDB
import GRDBSQLite
import ScrollbackModel

extension Database {
    /// The number of SQLite's instructions after which it asks whether to go on, about a tenth of a millisecond.
    private static let instructions: CInt = 10_000

    /// Runs `body`, and interrupts its statements at a deadline.
    ///
    /// SQLite counts the instructions of each statement, so a loop of short statements must check the deadline itself.
    ///
    /// - Throws: The deadline's error if a statement was interrupted.
    func interrupting<Answer>(at deadline: WorkDeadline, _ body: () throws -> Answer) throws -> Answer {
        let box = Box(deadline)
        let pointer = Unmanaged.passUnretained(box).toOpaque()
        sqlite3_progress_handler(
            sqliteConnection, Self.instructions,
            { pointer in
                guard let pointer else { return 0 }
                return Unmanaged<Box>.fromOpaque(pointer).takeUnretainedValue().deadline.isExceeded ? 1 : 0
            }, pointer)
        defer { sqlite3_progress_handler(sqliteConnection, 0, nil, nil) }
        return try withExtendedLifetime(box) {
            do {
                return try body()
            } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
                throw deadline.error
            }
        }
    }

    private final class Box {
        let deadline: WorkDeadline

        init(_ deadline: WorkDeadline) {
            self.deadline = deadline
        }
    }
}
