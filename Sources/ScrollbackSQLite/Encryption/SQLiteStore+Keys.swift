import GRDB
import ScrollbackModel
import SQLiteSupport

extension SQLiteConnection: EncryptingConnection {
    var encryptionState: StoreEncryptionState<SQLiteConnection> { StoreEncryptionState(EncryptedTable.all, on: self) }
}

extension SQLiteStore {
    /// Verifies that all encrypted texts can be decrypted, before any of them is read.
    ///
    /// - Throws: `invalid-parameter` naming the missing keys; `internal-error` if the file was altered.
    static func checkKeys(_ connection: SQLiteConnection, _ keys: StoreKeys?) throws {
        let missing = try connection.encryptionState.missingKeys(in: keys)
        guard missing.isEmpty else {
            throw ChatError.invalidParameter("store-keys", StoreKeys.missingKeysMessage(for: missing, given: keys))
        }
    }

    /// Records the key for re-encryption before it encrypts anything.
    static func startReencryption(with keys: StoreKeys?, _ connection: SQLiteConnection) throws {
        guard let keys, try connection.encryptionState.needsReencryption(with: keys) else { return }
        try connection.run(SQLiteConnection.beginWrite)
        defer { connection.rollBack() }
        try connection.encryptionState.startReencryption(with: keys)
        try connection.run(SQLiteConnection.commit)
    }
}
