package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension PostgresStore: SharedStore {
    package var isFirst: Bool { lock.isFirst }

    package func write(
        after known: Int64, as id: CommitID, expecting reads: () -> ExpectedReads,
        _ body: (any StoreWriter, Turn) throws -> [UInt8]
    ) throws {
        try transact(after: known, as: id, expecting: reads) { try body($0, $1) }
    }

    package func notes(from number: Int64) throws -> NotePage {
        try translatingErrors("The store could not be read.") {
            try readers.transaction(begin: { try Notes.read(from: number, on: $0) }, { $1 })
        }
    }

    package func dropNotes(olderThan seconds: TimeInterval) throws {
        try translatingErrors("The store could not be written.") {
            try readers.transaction(begin: { try Notes.drop(olderThan: seconds, on: $0) }) { $1 }
        }
    }
}

/// The statements for the notes of commits.
enum Notes {
    typealias Row = (note: CommitNote, newest: Int64)

    /// The notes that fit into about 4 MiB, and the newest number.
    ///
    /// The node knows the body of the first one, because it is its last delivered commit.
    private static let page = Statement(
        """
        SELECT number, id, body, (SELECT max(number) FROM commitNote)
        FROM (
            SELECT number, id, body, sum(octet_length(body)) OVER (ORDER BY number) - octet_length(body) AS bytesBefore
            FROM (
                SELECT number, id, CASE WHEN number = $1 THEN '' ELSE body END AS body
                FROM commitNote WHERE number >= $1 ORDER BY number LIMIT 1000
            ) AS notes
        ) AS sizes
        WHERE bytesBefore < 4194304
        ORDER BY number
        """
    ) { columns in
        let note = CommitNote(
            number: columns.integer(), id: CommitID(bits: columns.bits()), body: columns.bytes())
        return Row(note: note, newest: columns.integer())
    }
    private static let one = Statement("SELECT id FROM commitNote WHERE number = ?") { CommitID(bits: $0.bits()) }
    private static let insert = Statement("INSERT INTO commitNote (number, id, at, body) VALUES (?, ?, ?, ?)")
    private static let insertFirst = Statement(
        "INSERT INTO commitNote (number, id, at, body) VALUES (?, ?, ?, '') ON CONFLICT (number) DO NOTHING")
    /// The time in the form of columns, which all nodes share.
    private static let now =
        "extract(epoch FROM clock_timestamp())::double precision - \(Date.timeIntervalBetween1970AndReferenceDate)"
    private static let drop = Statement(
        "DELETE FROM commitNote WHERE at < \(now) - ? AND number < (SELECT max(number) FROM commitNote)")
    static let time = Statement("SELECT \(now)") { $0.optionalDate() }

    static func read(from number: Int64, on connection: PostgresConnection) throws -> NotePage {
        page(of: try connection.all(page) { $0.add(number) })
    }

    static func page(of rows: [Row]) -> NotePage {
        NotePage(notes: rows.map(\.note), hasMore: rows.last.map { $0.note.number < $0.newest } ?? false)
    }

    /// Queues the queries for the time and the notes at the beginning of a turn.
    static func enqueueTurn(
        after known: Int64, on connection: PostgresConnection, time: @escaping (Date?) -> Void,
        row: @escaping (Row) -> Void
    ) throws {
        try connection.enqueue(Self.time, row: time)
        try connection.enqueue(page, bind: { $0.add(known) }, row: row)
    }

    static func enqueue(_ note: CommitNote, at time: Date, on connection: PostgresConnection) throws {
        try connection.enqueue(insert) {
            $0.add(note.number)
            $0.add(bits: note.id.bits)
            $0.add(time)
            $0.add(bytes: note.body)
        }
    }

    /// Queues a note of the newest commit, if it has none because the last server did not share the store.
    static func enqueueFirst(_ number: Int64, on connection: PostgresConnection) throws {
        try connection.enqueue(insertFirst) {
            $0.add(number)
            $0.add(bits: CommitID.random().bits)
            $0.add(Date())
        }
    }

    /// Returns the ID of a commit; `nil` if it has no note.
    static func id(of number: Int64, on connection: PostgresConnection) throws -> CommitID? {
        try connection.first(one) { $0.add(number) }
    }

    static func drop(olderThan seconds: TimeInterval, on connection: PostgresConnection) throws {
        try connection.run(drop) { $0.add(Date(timeIntervalSinceReferenceDate: seconds)) }
    }
}
