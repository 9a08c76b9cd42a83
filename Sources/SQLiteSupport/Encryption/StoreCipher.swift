import Crypto
import Foundation
package import GRDB
package import ScrollbackModel

/// The cipher for the texts of a store's rows: AES-256-GCM (NIST SP 800-38D) with a random nonce.
///
/// An encrypted value replaces the text in its column. It consists of a byte that never occurs in UTF-8, the key ID,
/// the nonce, the ciphertext and the tag. Encrypted and plain values can therefore coexist. Turning encryption on or
/// off, or changing its key, rewrites the values one by one.
package struct StoreCipher: Sendable {
    package let keys: StoreKeys
    let storageClass: StorageClass
    private let code: ChatError.Code

    /// The SQLite type of an encrypted value.
    package enum StorageClass: Sendable {
        /// A text, for strict tables, which allow nothing else.
        ///
        /// SQLite preserves the bytes of a text, but GRDB's rows don't, so read it with ``Columns``.
        case text
        case blob
    }

    /// 0xFF never occurs in UTF-8 (RFC 3629).
    static let marker: UInt8 = 0xFF
    private static let nonceCount = 12
    private static let tagCount = 16
    /// The number of bytes by which an encrypted value is longer than its text.
    package static let overhead = 1 + 4 + nonceCount + tagCount

    /// Creates a cipher.
    ///
    /// - Parameter code: The code of the error for a value that can't be decrypted.
    package init(
        _ keys: StoreKeys, as storageClass: StorageClass = .text, errorCode code: ChatError.Code = .internalError
    ) {
        self.keys = keys
        self.storageClass = storageClass
        self.code = code
    }

    /// The key for new values.
    package var newest: StoreKey? { keys.newest }

    /// Returns the key ID of an encrypted value; `nil` for a text, or for a value that is too short.
    package static func key(of value: UnsafeRawBufferPointer) -> StoreKey.ID? {
        guard value.count >= overhead, value.first == marker else { return nil }
        return StoreKey.ID(bits: UInt32(bigEndian: value.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
    }

    func encrypt(_ text: UnsafeRawBufferPointer, with key: StoreKey, for column: String, of row: EncryptedRow) throws
        -> [UInt8]
    {
        let box = try AES.GCM.seal(
            text, using: key.values, authenticating: row.authenticated(column))
        var value: [UInt8] = []
        value.reserveCapacity(Self.overhead + text.count)
        value.append(Self.marker)
        withUnsafeBytes(of: key.id.bits.bigEndian) { value.append(contentsOf: $0) }
        value.append(contentsOf: box.nonce)
        value.append(contentsOf: box.ciphertext)
        value.append(contentsOf: box.tag)
        return value
    }

    func decrypt(_ value: UnsafeRawBufferPointer, for column: String, of row: EncryptedRow) throws -> String {
        guard let id = Self.key(of: value) else { throw DecryptionError.invalidValue(column, of: row, code) }
        guard let key = keys[id] else { throw DecryptionError.missingKey(id, code) }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: value[5..<(5 + Self.nonceCount)]),
                ciphertext: value[(5 + Self.nonceCount)..<(value.count - Self.tagCount)],
                tag: value[(value.count - Self.tagCount)...])
            let text = try AES.GCM.open(box, using: key.values, authenticating: row.authenticated(column))
            return String(decoding: text, as: UTF8.self)
        } catch {
            throw DecryptionError.invalidValue(column, of: row, code)
        }
    }
}

/// Encryption of values in GRDB's rows and arguments.
extension StoreCipher {
    /// Returns the stored form of a text.
    package func encryptedValue(_ text: String, _ column: String, of row: EncryptedRow) throws -> DatabaseValue {
        guard let key = newest else { return text.databaseValue }
        var text = text
        let value = try text.withUTF8 { try encrypt(UnsafeRawBufferPointer($0), with: key, for: column, of: row) }
        return Data(value).databaseValue
    }

    /// Returns the text of a stored value; `nil` for NULL.
    ///
    /// - Throws: An error naming the row or the missing key if the value can't be decrypted.
    package func decryptedText(_ value: DatabaseValue, _ column: String, of row: EncryptedRow) throws -> String? {
        guard case .blob(let data) = value.storage else { return String.fromDatabaseValue(value) }
        return try data.withUnsafeBytes { try decrypt($0, for: column, of: row) }
    }
}

/// The errors of values that can't be decrypted.
enum DecryptionError {
    static func invalidValue(_ column: String, of row: EncryptedRow, _ code: ChatError.Code = .internalError)
        -> ChatError
    {
        ChatError(
            code,
            "The \(column) of \(row.name) can't be decrypted: it was altered, truncated or moved from another row. "
                + (code == .localStorage
                    ? "Delete the store; the client then loads sent messages again." : "Restore it from a backup."))
    }

    static func missingKey(_ key: StoreKey.ID, _ code: ChatError.Code = .internalError) -> ChatError {
        ChatError(
            code,
            "The store has values encrypted with the key \(key), which is not among the given keys."
        )
    }
}
