import GRDB
import ScrollbackModel
import StoreFiles

extension SQLiteStore {
    /// Which keys there are sealed values of, and how far sealing everything with the newest has come.
    static func createSealing(_ database: Database) throws {
        try database.execute(
            sql: """
                -- proof: a known text, sealed with the key.
                CREATE TABLE storeKey (
                    id INTEGER NOT NULL PRIMARY KEY,
                    proof TEXT NOT NULL
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

    private static let proof = "scrollback"

    /// Makes sure that everything which is sealed can be opened, before anything is.
    ///
    /// - Throws: `invalid-parameter` naming the keys that are missing, `internal-error` when the file is not what it was.
    static func checkKeys(_ connection: Connection, _ keys: StoreKeys?) throws {
        var missing: [StoreKey.ID] = []
        try connection.run(once: "SELECT id, proof FROM storeKey ORDER BY id") { columns in
            let number = columns.integer()
            let id = StoreKey.ID(bits: UInt32(truncatingIfNeeded: number))
            guard keys?[id] != nil else {
                missing.append(id)
                return true
            }
            guard try columns.text("proof", of: .storeKey(id)) == proof else {
                throw ChatError(
                    .internalError, "the store's proof of the key \(id) is not what it was: restore a backup")
            }
            return true
        }
        guard missing.isEmpty else {
            let names = missing.map(\.description).joined(separator: ", ")
            let given = keys.map { keys in
                keys.keys.isEmpty ? "no key" : keys.keys.map(\.id.description).joined(separator: ", ")
            }
            throw ChatError.invalidParameter(
                "store-keys",
                "must have the key \(names), which this store is sealed with"
                    + (given.map { "; it has \($0)" } ?? "; no keys are given"))
        }
    }

    /// Notes the key that is to seal everything, before it seals anything.
    static func adopt(_ keys: StoreKeys?, _ connection: Connection) throws {
        guard let keys else { return }
        let (before, isKnown) = try sealingKey(connection)
        guard before != keys.newest?.id || !isKnown else { return }
        try connection.run(.beginWrite)
        defer { connection.rollBack() }
        if let newest = keys.newest {
            try connection.run(
                once: "INSERT INTO storeKey (id, proof) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
                bind: {
                    $0.add(Int64(newest.id.bits))
                    $0.add(proof, "proof", of: .storeKey(newest.id))
                }, row: { _ in true })
        }
        try connection.run(
            once: "UPDATE sealing SET key = ?, position = ?",
            bind: {
                $0.add(keys.newest.map { Int64($0.id.bits) })
                $0.add(SealingPosition.start.stored)
            }, row: { _ in true })
        try connection.run(.commit)
    }

    /// - Returns: the key of the walk, and whether the store knows it.
    private static func sealingKey(_ connection: Connection) throws -> (StoreKey.ID?, isKnown: Bool) {
        var key: StoreKey.ID?
        try connection.run(once: "SELECT key FROM sealing") { columns in
            key = columns.optionalInteger().map { StoreKey.ID(bits: UInt32(truncatingIfNeeded: $0)) }
            return false
        }
        guard let id = key else { return (nil, true) }
        var isKnown = false
        try connection.run(once: "SELECT 1 FROM storeKey WHERE id = ?", bind: { $0.add(Int64(id.bits)) }) { _ in
            isKnown = true
            return false
        }
        return (key, isKnown)
    }
}

extension SealedRow {
    static func storeKey(_ id: StoreKey.ID) -> SealedRow { SealedRow("storeKey", .number(Int64(id.bits))) }
}
