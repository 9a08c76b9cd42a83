import Crypto
import Foundation
package import GRDB
package import ScrollbackModel

/// Seals the texts of a store's rows: AES-256-GCM (NIST SP 800-38D) with a random nonce.
///
/// A sealed value stands in the column where its text stood: a byte that no text in UTF-8 has, the key's id, the nonce, what
/// was sealed, and the tag. So values that are sealed and values that are not can stand side by side, and turning sealing on
/// or off, or changing its key, is writing values anew one by one.
package struct StoreCipher: Sendable {
    package let keys: StoreKeys
    let form: Form
    private let code: ChatError.Code

    /// What SQLite takes a sealed value for.
    package enum Form: Sendable {
        /// For a column of a strict table, which takes nothing else. SQLite keeps a text's bytes whatever they are, and GRDB's
        /// rows do not: it is read as ``Columns`` reads it.
        case text
        case blob
    }

    /// 0xFF is in no text in UTF-8 (RFC 3629).
    static let mark: UInt8 = 0xFF
    private static let nonceCount = 12
    private static let tagCount = 16
    /// What a sealed value is longer than its text.
    package static let overhead = 1 + 4 + nonceCount + tagCount

    /// - Parameter code: of the error that names what does not open.
    package init(_ keys: StoreKeys, as form: Form = .text, damage code: ChatError.Code = .internalError) {
        self.keys = keys
        self.form = form
        self.code = code
    }

    /// The key that values are sealed with from now on.
    package var newest: StoreKey? { keys.newest }

    /// The key of a sealed value; nothing for a text, and for what is too short to be sealed.
    package static func key(of value: UnsafeRawBufferPointer) -> StoreKey.ID? {
        guard value.count >= overhead, value.first == mark else { return nil }
        return StoreKey.ID(bits: UInt32(bigEndian: value.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
    }

    func seal(_ text: UnsafeRawBufferPointer, with key: StoreKey, for column: String, of row: SealedRow) throws
        -> [UInt8]
    {
        let box = try AES.GCM.seal(
            text, using: key.values, authenticating: row.authenticated(column))
        var value: [UInt8] = []
        value.reserveCapacity(Self.overhead + text.count)
        value.append(Self.mark)
        withUnsafeBytes(of: key.id.bits.bigEndian) { value.append(contentsOf: $0) }
        value.append(contentsOf: box.nonce)
        value.append(contentsOf: box.ciphertext)
        value.append(contentsOf: box.tag)
        return value
    }

    func open(_ value: UnsafeRawBufferPointer, for column: String, of row: SealedRow) throws -> String {
        guard let id = Self.key(of: value) else { throw StoreDamage.value(column, of: row, code) }
        guard let key = keys[id] else { throw StoreDamage.missing(id, code) }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: value[5..<(5 + Self.nonceCount)]),
                ciphertext: value[(5 + Self.nonceCount)..<(value.count - Self.tagCount)],
                tag: value[(value.count - Self.tagCount)...])
            let text = try AES.GCM.open(box, using: key.values, authenticating: row.authenticated(column))
            return String(decoding: text, as: UTF8.self)
        } catch {
            throw StoreDamage.value(column, of: row, code)
        }
    }
}

/// For values that come and go by GRDB's rows and arguments.
extension StoreCipher {
    /// A text as the store keeps it.
    package func sealed(_ text: String, _ column: String, of row: SealedRow) throws -> DatabaseValue {
        guard let key = newest else { return text.databaseValue }
        var text = text
        let value = try text.withUTF8 { try seal(UnsafeRawBufferPointer($0), with: key, for: column, of: row) }
        return Data(value).databaseValue
    }

    /// A text as it was before it was kept; nothing for NULL.
    ///
    /// - Throws: naming the row when it does not open, or the key that it takes.
    package func opened(_ value: DatabaseValue, _ column: String, of row: SealedRow) throws -> String? {
        guard case .blob(let data) = value.storage else { return String.fromDatabaseValue(value) }
        return try data.withUnsafeBytes { try open($0, for: column, of: row) }
    }
}

/// What stands in the way of opening what is sealed.
enum StoreDamage {
    static func value(_ column: String, of row: SealedRow, _ code: ChatError.Code = .internalError) -> ChatError {
        ChatError(
            code,
            "the \(column) of \(row.name) does not open: it was altered, cut or moved there from another row; "
                + (code == .localStorage
                    ? "remove the store, and what was sent is loaded anew" : "restore it from a backup"))
    }

    static func missing(_ key: StoreKey.ID, _ code: ChatError.Code = .internalError) -> ChatError {
        ChatError(
            code,
            "the store holds values that are sealed with the key \(key), which is not among the keys it was opened with"
        )
    }
}
