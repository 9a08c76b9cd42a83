import GRDB
package import SQLiteSupport

/// Background encryption of existing rows with the newest key, or their decryption.
extension SQLiteStore {
    /// Returns the progress of the background encryption; `nil` for a store that was never encrypted.
    package func encryptionProgress() throws -> EncryptionProgress? {
        try readConnection { try $0.encryptionState.progress() }
    }

    /// Encrypts the next rows in one commit.
    ///
    /// - Returns: Whether more rows remain. If not, encrypt the files next, and then call ``finishEncryption()``.
    package func encryptNextRows(limit: Int = 500) throws -> Bool {
        try updatingEncryptionState { try $0.encryptNextRows(limit: limit) }
    }

    /// Completes the background encryption of rows and files.
    ///
    /// It removes unused keys and truncates the write-ahead log, so that no overwritten text remains on disk.
    package func finishEncryption() throws {
        try updatingEncryptionState { try $0.finish() }
        pool.writeWithoutTransaction { database in _ = try? database.checkpoint(.truncate) }
    }

    private func updatingEncryptionState<Answer>(_ body: (StoreEncryptionState<SQLiteConnection>) throws -> Answer)
        throws -> Answer
    {
        try writing { try body($0.encryptionState) }
    }
}
