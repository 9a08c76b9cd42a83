import Foundation
import GRDBSQLite

/// SQLite without any layers: the limit that stores are compared with.
final class RawSQLite {
    private var database: OpaquePointer?
    private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ path: String, synchronous: String = "FULL", checkpointPages: Int = 1000) {
        precondition(sqlite3_open(path, &database) == SQLITE_OK, "Can't open the database \(path).")
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=\(synchronous)")
        execute("PRAGMA cache_size=-65536")
        execute("PRAGMA wal_autocheckpoint=\(checkpointPages)")
    }

    /// Opens a database read-only that another process writes to.
    ///
    /// - Parameter path: The path of the database.
    init(reading path: String) {
        precondition(
            sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK, "Can't open the database \(path)."
        )
    }

    deinit { sqlite3_close(database) }

    /// Returns the first column of each row.
    func texts(_ sql: String) -> [String] {
        let statement = prepare(sql)
        defer { sqlite3_finalize(statement) }
        var texts: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            texts.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
        }
        return texts
    }

    func integer(_ sql: String) -> Int { texts(sql).first.flatMap { Int($0) } ?? 0 }

    func execute(_ sql: String) {
        var message: UnsafeMutablePointer<CChar>?
        guard sqlite3_exec(database, sql, nil, nil, &message) == SQLITE_OK else {
            fatalError("\(sql): \(message.map { String(cString: $0) } ?? "?")")
        }
    }

    func prepare(_ sql: String) -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            fatalError("Can't prepare \(sql).")
        }
        return statement
    }

    /// Creates the table of the peers' raw benchmark: messages with a 300-byte body, clustered by conversation and
    /// sequence number.
    func makeMessages() {
        execute(
            """
            CREATE TABLE messages(conversation INTEGER NOT NULL, seq INTEGER NOT NULL, sender INTEGER NOT NULL,
            ts INTEGER NOT NULL, client_id INTEGER NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY(conversation,seq)) WITHOUT ROWID
            """)
    }

    /// Inserts messages into random conversations.
    ///
    /// - Parameters:
    ///   - duration: The duration in seconds.
    ///   - batch: The number of messages per transaction.
    ///   - conversations: The number of conversations.
    /// - Returns: The number of messages per second.
    func insert(for duration: Double, batch: Int, conversations: Int) -> Double {
        let statement = prepare("INSERT INTO messages VALUES(?,?,?,?,?,?)")
        var seqs = [Int64](repeating: 0, count: conversations)
        var random: UInt32 = 12345
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 300)
        var count: Int64 = 0
        let start = now()
        while now() - start < duration {
            execute("BEGIN IMMEDIATE")
            for _ in 0..<batch {
                random = random &* 1_103_515_245 &+ 12345
                let conversation = Int(random >> 8) % conversations
                seqs[conversation] += 1
                sqlite3_bind_int64(statement, 1, Int64(conversation))
                sqlite3_bind_int64(statement, 2, seqs[conversation])
                sqlite3_bind_int64(statement, 3, Int64(conversation * 7))
                sqlite3_bind_int64(statement, 4, count)
                sqlite3_bind_int64(statement, 5, count)
                sqlite3_bind_blob(statement, 6, body, 300, transient)
                precondition(sqlite3_step(statement) == SQLITE_DONE)
                sqlite3_reset(statement)
                count += 1
            }
            execute("COMMIT")
        }
        sqlite3_finalize(statement)
        return Double(count) / (now() - start)
    }

    /// Reads pages of 50 at random positions, including every column.
    func pages(_ sql: String, queries: Int, bind: (OpaquePointer, Int) -> Void) -> Sample {
        let statement = prepare(sql)
        var sample = Sample()
        var sum: Int64 = 0
        for query in 0..<queries {
            let start = now()
            bind(statement, query)
            while sqlite3_step(statement) == SQLITE_ROW {
                for column in 0..<sqlite3_column_count(statement) {
                    switch sqlite3_column_type(statement, column) {
                    case SQLITE_INTEGER: sum &+= sqlite3_column_int64(statement, column)
                    case SQLITE_TEXT, SQLITE_BLOB:
                        // Decoding requires at least a copy of the value.
                        let bytes = UnsafeRawBufferPointer(
                            start: sqlite3_column_blob(statement, column),
                            count: Int(sqlite3_column_bytes(statement, column)))
                        sum &+= Int64(String(decoding: bytes, as: UTF8.self).utf8.count)
                    default: break
                    }
                }
            }
            sqlite3_reset(statement)
            sample.add(now() - start)
        }
        sqlite3_finalize(statement)
        precondition(sum != 42)
        return sample
    }
}
