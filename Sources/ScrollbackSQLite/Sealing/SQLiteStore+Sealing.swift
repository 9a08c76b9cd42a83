import Foundation
import GRDB
import ScrollbackModel
package import StoreFiles

/// Where a walk over everything that is to be sealed is: the last row that was looked at, of a table.
struct SealingPosition: Codable {
    var table: Int
    var key: [SealedRow.Part]?

    static let start = SealingPosition(table: 0)

    /// Whether every row was looked at.
    var isAtEnd: Bool { table >= SealedTable.all.count }

    var stored: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    init(table: Int, key: [SealedRow.Part]? = nil) {
        self.table = table
        self.key = key
    }

    /// What can't be read is begun anew: looking at a row twice changes nothing.
    init(stored text: String) {
        self = (try? JSONDecoder().decode(SealingPosition.self, from: Data(text.utf8))) ?? .start
    }
}

/// How far a store has come with sealing everything with its newest key.
package struct SealingProgress: Hashable, Sendable {
    /// Nothing where the seals are taken off.
    package var key: StoreKey.ID?
    /// 1 when every row is.
    package var fraction: Double
    /// Keys that values may be sealed with besides: they are needed until all is done.
    package var olderKeys: [StoreKey.ID]

    package var isDone: Bool { fraction >= 1 }
}

/// The walk that seals what is there with the newest key, or takes its seals off. What is written meanwhile is as it should be
/// already, so one walk is enough, wherever it is stopped and gone on with.
extension SQLiteStore {
    /// How far the walk has come; nothing for a store that was never sealed.
    package func sealingProgress() throws -> SealingProgress? {
        try readConnection { connection in
            var keys: [StoreKey.ID] = []
            try connection.run(once: "SELECT id FROM storeKey ORDER BY id") { columns in
                keys.append(StoreKey.ID(bits: UInt32(truncatingIfNeeded: columns.integer())))
                return true
            }
            let (key, position) = try Self.sealing(connection)
            guard key != nil || position != nil || !keys.isEmpty else { return nil }
            let fraction = try position.map { try Self.fraction(at: $0, connection) } ?? 1
            return SealingProgress(key: key, fraction: fraction, olderKeys: keys.filter { $0 != key })
        }
    }

    /// Seals the next rows, in one commit.
    ///
    /// - Returns: whether there are more; when there are not, the files are next, and then ``finishSealing()``.
    package func sealSome(rows limit: Int = 500) throws -> Bool {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                let connection = self.connection(database)
                defer { connection.rollBack() }
                return try translatingErrors(on: database, "the store could not be written") {
                    try connection.run(.beginWrite)
                    let (key, position) = try Self.sealing(connection)
                    guard let position, !position.isAtEnd else { return false }
                    let next = try Self.seal(limit, after: position, with: key, connection)
                    try connection.run(
                        once: "UPDATE sealing SET position = ?", bind: { $0.add(next.stored) }, row: { _ in true })
                    try connection.run(.commit)
                    return !next.isAtEnd
                }
            }
        }
    }

    /// Ends a walk that is done, here and over the files: forgets the keys that nothing is sealed with any more, and lets
    /// nothing of what was overwritten lie beside the file.
    package func finishSealing() throws {
        try checkOpen()
        try translatingErrors {
            try pool.writeWithoutTransaction { database in
                let connection = self.connection(database)
                defer { connection.rollBack() }
                try translatingErrors(on: database, "the store could not be written") {
                    try connection.run(.beginWrite)
                    guard let position = try Self.sealing(connection).position, position.isAtEnd else {
                        throw ChatError(.conflict, "there are rows that are not sealed yet")
                    }
                    try connection.run(once: "UPDATE sealing SET position = NULL", row: { _ in true })
                    try connection.run(
                        once: "DELETE FROM storeKey WHERE id IS NOT (SELECT key FROM sealing)", row: { _ in true })
                    try connection.run(.commit)
                    _ = try? database.checkpoint(.truncate)
                }
            }
        }
    }

    private static func sealing(_ connection: Connection) throws -> (key: StoreKey.ID?, position: SealingPosition?) {
        var found: (StoreKey.ID?, SealingPosition?) = (nil, nil)
        try connection.run(once: "SELECT key, position FROM sealing") { columns in
            found.0 = columns.optionalInteger().map { StoreKey.ID(bits: UInt32(truncatingIfNeeded: $0)) }
            found.1 = columns.optionalText().map { SealingPosition(stored: $0) }
            return false
        }
        return found
    }

    /// - Returns: where it goes on.
    private static func seal(
        _ limit: Int, after position: SealingPosition, with key: StoreKey.ID?, _ connection: Connection
    ) throws -> SealingPosition {
        let table = SealedTable.all[position.table]
        let rows = try table.rows(after: position.key, limit: limit, connection)
        for row in rows {
            // NULL has no key and needs none.
            let isRight = row.texts.allSatisfy { $0.text == nil || $0.key == key }
            if !isRight { try table.write(row, connection) }
        }
        guard rows.count == limit, let last = rows.last else { return SealingPosition(table: position.table + 1) }
        return SealingPosition(table: position.table, key: last.key)
    }

    /// Roughly: every table counts the same, and of a table only how far it is in the conversations.
    private static func fraction(at position: SealingPosition, _ connection: Connection) throws -> Double {
        var inTable = 0.0
        if case .number(let number)? = position.key?.first, !position.isAtEnd {
            let table = SealedTable.all[position.table]
            try connection.run(once: "SELECT max(\(table.key[0])) FROM \(table.name)") { columns in
                inTable = min(1, Double(number) / Double(max(1, columns.integer())))
                return false
            }
        }
        return min(0.999, (Double(position.table) + inTable) / Double(SealedTable.all.count))
    }
}

extension SealedTable {
    /// A row's texts, opened, and what each was sealed with.
    struct TextRow {
        var key: [SealedRow.Part]
        var sealed: SealedRow
        var texts: [(text: String?, key: StoreKey.ID?)]
    }

    /// - Parameter unopened: told what does not open, whose text is nothing then; without it that is an error.
    func rows(
        after key: [SealedRow.Part]?, limit: Int, _ connection: Connection,
        unopened: ((any Error) throws -> Void)? = nil
    ) throws -> [TextRow] {
        let columns = (self.key + binding + texts).joined(separator: ", ")
        let order = self.key.joined(separator: ", ")
        let after = key.map { _ in "WHERE (\(order)) > (\(Query.places(self.key.count)))" } ?? ""
        var rows: [TextRow] = []
        try connection.run(
            once: "SELECT \(columns) FROM \(name) \(after) ORDER BY \(order) LIMIT \(limit)",
            bind: { parameters in
                for part in key ?? [] { parameters.add(part) }
            },
            row: { columns in
                let key = self.key.map { _ in columns.part() }
                let sealed = SealedRow(name, key: binding.map { _ in columns.part() })
                var row = TextRow(key: key, sealed: sealed, texts: [])
                for column in texts {
                    let key = columns.keyOfNext()
                    do {
                        row.texts.append((try columns.optionalText(column, of: sealed), key))
                    } catch {
                        guard let unopened else { throw error }
                        try unopened(error)
                        row.texts.append((nil, key))
                    }
                }
                rows.append(row)
                return true
            })
        return rows
    }

    /// Writes a row's texts as the store seals them now.
    func write(_ row: TextRow, _ connection: Connection) throws {
        let assignments = texts.map { "\($0) = ?" }.joined(separator: ", ")
        let condition = key.map { "\($0) = ?" }.joined(separator: " AND ")
        try connection.run(
            once: "UPDATE \(name) SET \(assignments) WHERE \(condition)",
            bind: { parameters in
                for (column, value) in zip(texts, row.texts) { parameters.add(value.text, column, of: row.sealed) }
                for part in row.key { parameters.add(part) }
            }, row: { _ in true })
    }
}
