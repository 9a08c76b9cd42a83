import Foundation
package import GRDB
import ScrollbackModel

/// The seals of a store: which keys there are sealed values of, and the walk that seals everything with the newest, or takes
/// the seals off.
///
/// What is written meanwhile is as it should be already, so one walk is enough, wherever it is stopped and gone on with.
/// Whoever calls holds the transaction.
package struct StoreSeals<Connection: SealingConnection> {
    private let tables: [SealedTable]
    private let connection: Connection

    /// - Parameter tables: every one that has texts.
    package init(_ tables: [SealedTable], on connection: Connection) {
        self.tables = tables
        self.connection = connection
    }

    // MARK: Keys

    /// The keys that the store is sealed with and that are not given.
    ///
    /// - Throws: when what is there was sealed with another key of a given one's name.
    package func missingKeys(in keys: StoreKeys?) throws -> [StoreKey.ID] {
        var missing: [StoreKey.ID] = []
        try connection.run(once: "SELECT id, proof FROM storeKey ORDER BY id") { columns in
            let id = columns.keyID()
            guard keys?[id] != nil else {
                missing.append(id)
                return true
            }
            guard try columns.optionalText("proof", of: .storeKey(id)) == proof else {
                throw ChatError(
                    .internalError, "the store's proof of the key \(id) is not what it was: restore a backup")
            }
            return true
        }
        return missing
    }

    /// Whether the newest key is another than the one that everything is sealed with, or is being.
    package func isNew(_ keys: StoreKeys) throws -> Bool {
        guard let known = try walk().key else { return keys.newest != nil }
        return try known != keys.newest?.id || !knownKeys().contains(known)
    }

    /// Notes the key that is to seal everything, before it seals anything, and begins the walk.
    package func adopt(_ keys: StoreKeys) throws {
        if let newest = keys.newest {
            try connection.run(once: "INSERT INTO storeKey (id, proof) VALUES (?, ?) ON CONFLICT (id) DO NOTHING") {
                $0.add(Int64(newest.id.bits))
                $0.add(proof, "proof", of: .storeKey(newest.id))
            }
        }
        try connection.run(once: "UPDATE sealing SET key = ?, position = ?") {
            $0.add(keys.newest.map { Int64($0.id.bits) })
            $0.add(Position.start.stored)
        }
    }

    private var proof: String { "scrollback" }

    private func knownKeys() throws -> [StoreKey.ID] {
        var keys: [StoreKey.ID] = []
        try connection.run(once: "SELECT id FROM storeKey ORDER BY id") { columns in
            keys.append(columns.keyID())
            return true
        }
        return keys
    }

    // MARK: The walk

    /// How far the walk has come; nothing for a store that was never sealed.
    package func progress() throws -> SealingProgress? {
        let keys = try knownKeys()
        let (key, position) = try walk()
        guard key != nil || position != nil || !keys.isEmpty else { return nil }
        let fraction = try position.map { try self.fraction(at: $0) } ?? 1
        return SealingProgress(key: key, fraction: fraction, olderKeys: keys.filter { $0 != key })
    }

    /// Seals the next rows.
    ///
    /// - Returns: whether there are more; when there are not, what is kept in files is next, and then ``finish()``.
    package func sealSome(rows limit: Int) throws -> Bool {
        let (key, position) = try walk()
        guard let position, !isAtEnd(position) else { return false }
        let table = tables[position.table]
        let rows = try table.rows(after: position.key, limit: limit, connection)
        for row in rows {
            // NULL has no key and needs none.
            let isRight = row.texts.allSatisfy { $0.text == nil || $0.key == key }
            if !isRight { try table.write(row, connection) }
        }
        var next = Position(table: position.table + 1)
        if rows.count == limit, let last = rows.last { next = Position(table: position.table, key: last.key) }
        try connection.run(once: "UPDATE sealing SET position = ?") { $0.add(next.stored) }
        return !isAtEnd(next)
    }

    /// Ends a walk that is done: forgets the keys that nothing is sealed with any more.
    ///
    /// - Throws: `conflict` when it is not.
    package func finish() throws {
        guard let position = try walk().position, isAtEnd(position) else {
            throw ChatError(.conflict, "there are rows that are not sealed yet")
        }
        try connection.run(once: "UPDATE sealing SET position = NULL")
        try connection.run(once: "DELETE FROM storeKey WHERE id IS NOT (SELECT key FROM sealing)")
    }

    /// Opens everything that is sealed.
    ///
    /// - Parameter found: told what does not open.
    package func check(_ found: (String) throws -> Void) throws {
        for table in tables {
            var last: [SealedRow.Part]?
            repeat {
                var unopened: [String] = []
                let rows = try table.rows(after: last, limit: 500, connection) { error in
                    unopened.append((error as? ChatError)?.message ?? "\(error)")
                }
                for finding in unopened { try found(finding) }
                last = rows.count == 500 ? rows.last?.key : nil
            } while last != nil
        }
    }

    private func walk() throws -> (key: StoreKey.ID?, position: Position?) {
        var found: (StoreKey.ID?, Position?) = (nil, nil)
        try connection.run(once: "SELECT key, position FROM sealing") { columns in
            found.0 = columns.optionalInteger().map { StoreKey.ID(bits: UInt32(truncatingIfNeeded: $0)) }
            found.1 = columns.optionalText().map { Position(stored: $0) }
            return false
        }
        return found
    }

    /// Roughly: every table counts the same, and of a table only how far it is in the conversations.
    private func fraction(at position: Position) throws -> Double {
        var inTable = 0.0
        if case .number(let number)? = position.key?.first, !isAtEnd(position) {
            let table = tables[position.table]
            try connection.run(once: "SELECT max(\(table.key[0])) FROM \(table.name)") { columns in
                inTable = min(1, Double(number) / Double(max(1, columns.integer())))
                return false
            }
        }
        return min(0.999, (Double(position.table) + inTable) / Double(tables.count))
    }

    /// Whether every row was looked at.
    private func isAtEnd(_ position: Position) -> Bool { position.table >= tables.count }

    /// Where a walk is: the last row that was looked at, of a table.
    private struct Position: Codable {
        var table: Int
        var key: [SealedRow.Part]?

        static var start: Position { Position(table: 0) }

        init(table: Int, key: [SealedRow.Part]? = nil) {
            self.table = table
            self.key = key
        }

        var stored: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }

        /// What can't be read is begun anew: looking at a row twice changes nothing.
        init(stored text: String) {
            self = (try? JSONDecoder().decode(Position.self, from: Data(text.utf8))) ?? .start
        }
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

/// The tables in which seals are kept.
package enum SealingSchema {
    package static func create(_ database: Database) throws {
        try database.execute(
            sql: """
                -- proof: a known text, sealed with the key.
                CREATE TABLE storeKey (
                    id INTEGER NOT NULL PRIMARY KEY,
                    proof ANY NOT NULL
                ) STRICT;

                -- key: of the walk; NULL: it takes the seals off. position: the last row that was looked at; NULL: it is done.
                CREATE TABLE sealing (
                    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
                    key INTEGER,
                    position TEXT
                ) STRICT;
                INSERT INTO sealing (one, key, position) VALUES (1, NULL, NULL);
                """)
    }
}

extension SealedRow {
    fileprivate static func storeKey(_ id: StoreKey.ID) -> SealedRow { SealedRow("storeKey", .number(Int64(id.bits))) }
}

extension Columns {
    fileprivate mutating func keyID() -> StoreKey.ID { StoreKey.ID(bits: UInt32(truncatingIfNeeded: integer())) }
}
