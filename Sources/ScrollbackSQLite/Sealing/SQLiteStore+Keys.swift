import GRDB
import ScrollbackModel
import StoreFiles

extension Connection: SealingConnection {
    var seals: StoreSeals<Connection> { StoreSeals(SealedTable.all, on: self) }
}

extension SQLiteStore {
    /// Makes sure that everything which is sealed can be opened, before anything is.
    ///
    /// - Throws: `invalid-parameter` naming the keys that are missing, `internal-error` when the file is not what it was.
    static func checkKeys(_ connection: Connection, _ keys: StoreKeys?) throws {
        let missing = try connection.seals.missingKeys(in: keys)
        guard missing.isEmpty else {
            throw ChatError.invalidParameter("store-keys", StoreKeys.refusal(of: missing, given: keys))
        }
    }

    /// Notes the key that is to seal everything, before it seals anything.
    static func adopt(_ keys: StoreKeys?, _ connection: Connection) throws {
        guard let keys, try connection.seals.isNew(keys) else { return }
        try connection.run(.beginWrite)
        defer { connection.rollBack() }
        try connection.seals.adopt(keys)
        try connection.run(.commit)
    }
}
