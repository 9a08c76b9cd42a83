import GRDB
import ScrollbackModel
import StoreFiles

extension Connection: SealingConnection {
    var seals: StoreSeals<Connection> { StoreSeals(SealedTable.all, on: self) }
}

extension SQLiteStore {
    /// Verifies that all encrypted texts can be decrypted, before any of them is read.
    ///
    /// - Throws: `invalid-parameter` naming the missing keys; `internal-error` if the file was altered.
    static func checkKeys(_ connection: Connection, _ keys: StoreKeys?) throws {
        let missing = try connection.seals.missingKeys(in: keys)
        guard missing.isEmpty else {
            throw ChatError.invalidParameter("store-keys", StoreKeys.refusal(of: missing, given: keys))
        }
    }

    /// Records the key for re-encryption before it encrypts anything.
    static func adopt(_ keys: StoreKeys?, _ connection: Connection) throws {
        guard let keys, try connection.seals.isNew(keys) else { return }
        try connection.run(.beginWrite)
        defer { connection.rollBack() }
        try connection.seals.adopt(keys)
        try connection.run(.commit)
    }
}
