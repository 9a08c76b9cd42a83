import ScrollbackEngine
import ScrollbackModel

extension PostgresReader {
    private static let incarnations = Statement<IncarnationRow>(
        "SELECT id, generation, firstCommit, newest, lostAfter FROM incarnation ORDER BY number"
    ) { columns in
        IncarnationRow(
            id: MessageID(try columns.uuid("id")), generation: columns.bits(), firstCommit: columns.integer(),
            newest: columns.timetoken(),
            lostAfter: columns.optionalInteger().map { Timetoken(rawValue: UInt64(bitPattern: $0)) })
    }

    func incarnations() throws -> [IncarnationRow] {
        try connection.all(Self.incarnations)
    }
}

extension PostgresWriter {
    private static let insertIncarnation = Statement(
        "INSERT INTO incarnation (id, generation, firstCommit, newest, lostAfter) VALUES (?, ?, ?, ?, ?)")

    func begin(_ incarnation: IncarnationRow) throws {
        try connection.enqueue(Self.insertIncarnation) {
            $0.add(incarnation.id)
            $0.add(bits: incarnation.generation)
            $0.add(incarnation.firstCommit, incarnation.newest, incarnation.lostAfter)
        }
        generation = incarnation.generation
    }
}
