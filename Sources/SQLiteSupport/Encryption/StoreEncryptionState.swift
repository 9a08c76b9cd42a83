import Foundation
package import GRDB
import ScrollbackModel

/// The encryption state of a store: its keys, and the background encryption of existing rows.
///
/// The background encryption re-encrypts all rows with the newest key, or decrypts them. New values are always written
/// in the current form, so one pass is sufficient, even if it is interrupted and resumed. The caller provides the
/// transaction.
package struct StoreEncryptionState<Connection: EncryptingConnection> {
    private let tables: [EncryptedTable]
    private let connection: Connection

    /// Creates the state.
    ///
    /// - Parameter tables: All tables with texts.
    package init(_ tables: [EncryptedTable], on connection: Connection) {
        self.tables = tables
        self.connection = connection
    }

    // MARK: Keys

    /// Returns the keys that the store needs and `keys` lacks.
    ///
    /// - Throws: `internal-error` if a key has the right ID but is not the key of the store.
    package func missingKeys(in keys: StoreKeys?) throws -> [StoreKey.ID] {
        var missing: [StoreKey.ID] = []
        try connection.run(uncached: "SELECT id, proof FROM storeKey ORDER BY id") { columns in
            let id = columns.keyID()
            guard keys?[id] != nil else {
                missing.append(id)
                return true
            }
            guard try columns.optionalText("proof", of: .storeKey(id)) == proof else {
                throw ChatError(
                    .internalError, "The store's proof of the key \(id) was altered. Restore the store from a backup.")
            }
            return true
        }
        return missing
    }

    /// Returns whether the newest key differs from that of the current or completed background encryption.
    package func needsReencryption(with keys: StoreKeys) throws -> Bool {
        guard let known = try passState().key else { return keys.newest != nil }
        return try known != keys.newest?.id || !knownKeys().contains(known)
    }

    /// Records the newest key before it encrypts anything, and starts the background encryption.
    package func startReencryption(with keys: StoreKeys) throws {
        if let newest = keys.newest {
            try connection.run(uncached: "INSERT INTO storeKey (id, proof) VALUES (?, ?) ON CONFLICT (id) DO NOTHING") {
                $0.add(Int64(newest.id.bits))
                $0.add(proof, "proof", of: .storeKey(newest.id))
            }
        }
        try connection.run(uncached: "UPDATE sealing SET key = ?, position = ?") {
            $0.add(keys.newest.map { Int64($0.id.bits) })
            $0.add(Position.start.stored)
        }
    }

    private var proof: String { "scrollback" }

    private func knownKeys() throws -> [StoreKey.ID] {
        var keys: [StoreKey.ID] = []
        try connection.run(uncached: "SELECT id FROM storeKey ORDER BY id") { columns in
            keys.append(columns.keyID())
            return true
        }
        return keys
    }

    // MARK: Background encryption

    /// Returns the progress; `nil` for a store that was never encrypted.
    package func progress() throws -> EncryptionProgress? {
        let keys = try knownKeys()
        let (key, position) = try passState()
        guard key != nil || position != nil || !keys.isEmpty else { return nil }
        let fraction = try position.map { try self.fraction(at: $0) } ?? 1
        return EncryptionProgress(key: key, fraction: fraction, olderKeys: keys.filter { $0 != key })
    }

    /// Encrypts the next rows.
    ///
    /// - Returns: Whether more rows remain. If not, encrypt the files next, and then call ``finish()``.
    package func encryptNextRows(limit: Int) throws -> Bool {
        let (key, position) = try passState()
        guard let position, !isAtEnd(position) else { return false }
        let table = tables[position.table]
        let rows = try table.rows(after: position.key, limit: limit, connection)
        for row in rows {
            // NULL is never encrypted.
            let isCurrent = row.texts.allSatisfy { $0.text == nil || $0.key == key }
            if !isCurrent { try table.write(row, connection) }
        }
        var next = Position(table: position.table + 1)
        if rows.count == limit, let last = rows.last { next = Position(table: position.table, key: last.key) }
        try connection.run(uncached: "UPDATE sealing SET position = ?") { $0.add(next.stored) }
        return !isAtEnd(next)
    }

    /// Completes the background encryption and removes unused keys.
    ///
    /// - Throws: `conflict` if rows remain.
    package func finish() throws {
        guard let position = try passState().position, isAtEnd(position) else {
            throw ChatError(.conflict, "The background encryption is not complete: rows remain.")
        }
        try connection.run(uncached: "UPDATE sealing SET position = NULL")
        try connection.run(uncached: "DELETE FROM storeKey WHERE id IS NOT (SELECT key FROM sealing)")
    }

    /// Decrypts all encrypted values.
    ///
    /// - Parameter found: Called with a message for each value that can't be decrypted.
    package func check(_ found: (String) throws -> Void) throws {
        for table in tables {
            var last: [EncryptedRow.Part]?
            repeat {
                var failures: [String] = []
                let rows = try table.rows(after: last, limit: 500, connection) { error in
                    failures.append((error as? ChatError)?.message ?? "\(error)")
                }
                for finding in failures { try found(finding) }
                last = rows.count == 500 ? rows.last?.key : nil
            } while last != nil
        }
    }

    private func passState() throws -> (key: StoreKey.ID?, position: Position?) {
        var found: (StoreKey.ID?, Position?) = (nil, nil)
        try connection.run(uncached: "SELECT key, position FROM sealing") { columns in
            found.0 = columns.optionalInteger().map { StoreKey.ID(bits: UInt32(truncatingIfNeeded: $0)) }
            found.1 = columns.optionalText().map { Position(stored: $0) }
            return false
        }
        return found
    }

    /// Returns an approximation: all tables have the same weight, and the first key column gives the progress in a
    /// table.
    private func fraction(at position: Position) throws -> Double {
        var inTable = 0.0
        if case .number(let number)? = position.key?.first, !isAtEnd(position) {
            let table = tables[position.table]
            try connection.run(uncached: "SELECT max(\(table.key[0])) FROM \(table.name)") { columns in
                inTable = min(1, Double(number) / Double(max(1, columns.integer())))
                return false
            }
        }
        return min(0.999, (Double(position.table) + inTable) / Double(tables.count))
    }

    /// Returns whether all rows were processed.
    private func isAtEnd(_ position: Position) -> Bool { position.table >= tables.count }

    /// The position of the background encryption: a table and the last processed row.
    private struct Position: Codable {
        var table: Int
        var key: [EncryptedRow.Part]?

        static var start: Position { Position(table: 0) }

        init(table: Int, key: [EncryptedRow.Part]? = nil) {
            self.table = table
            self.key = key
        }

        var stored: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }

        /// Decodes a position; an invalid one restarts the pass, which is safe because processing is idempotent.
        init(stored text: String) {
            self = (try? JSONDecoder().decode(Position.self, from: Data(text.utf8))) ?? .start
        }
    }
}

/// The progress of the background encryption.
package struct EncryptionProgress: Hashable, Sendable {
    /// The key; `nil` while the store is being decrypted.
    package var key: StoreKey.ID?
    /// The completed fraction; 1 when all rows are processed.
    package var fraction: Double
    /// Other keys that values may still use; they are required until the encryption is complete.
    package var olderKeys: [StoreKey.ID]

    package var isDone: Bool { fraction >= 1 }
}

/// The tables of the encryption state.
package enum EncryptionSchema {
    package static func create(_ database: Database) throws {
        try database.execute(
            sql: """
                -- proof: a known text, encrypted with the key.
                CREATE TABLE storeKey (
                    id INTEGER NOT NULL PRIMARY KEY,
                    proof ANY NOT NULL
                ) STRICT;

                -- key: the key of the background encryption; NULL: decryption. position: the last processed row; NULL:
                -- complete.
                CREATE TABLE sealing (
                    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
                    key INTEGER,
                    position TEXT
                ) STRICT;
                INSERT INTO sealing (one, key, position) VALUES (1, NULL, NULL);
                """)
    }
}

extension EncryptedRow {
    fileprivate static func storeKey(_ id: StoreKey.ID) -> EncryptedRow {
        EncryptedRow("storeKey", .number(Int64(id.bits)))
    }
}

extension Columns {
    fileprivate mutating func keyID() -> StoreKey.ID { StoreKey.ID(bits: UInt32(truncatingIfNeeded: integer())) }
}
