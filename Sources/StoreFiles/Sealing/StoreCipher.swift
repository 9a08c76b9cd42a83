import Crypto
import Foundation
import ScrollbackModel

/// Seals the texts of a store's rows: AES-256-GCM (NIST SP 800-38D) with a random nonce.
///
/// A sealed value stands in the column where its text stood: a byte that no text in UTF-8 has, the key's id, the nonce, what
/// was sealed, and the tag. So values that are sealed and values that are not can stand side by side, and turning sealing on
/// or off, or changing its key, is writing values anew one by one.
package struct StoreCipher: Sendable {
    package let keys: StoreKeys

    /// 0xFF is in no text in UTF-8 (RFC 3629).
    static let mark: UInt8 = 0xFF
    private static let nonceCount = 12
    private static let tagCount = 16
    /// What a sealed value is longer than its text.
    package static let overhead = 1 + 4 + nonceCount + tagCount

    package init(_ keys: StoreKeys) {
        self.keys = keys
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
        guard let id = Self.key(of: value) else { throw StoreDamage.value(column, of: row) }
        guard let key = keys[id] else { throw StoreDamage.missing(id) }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: value[5..<(5 + Self.nonceCount)]),
                ciphertext: value[(5 + Self.nonceCount)..<(value.count - Self.tagCount)],
                tag: value[(value.count - Self.tagCount)...])
            let text = try AES.GCM.open(box, using: key.values, authenticating: row.authenticated(column))
            return String(decoding: text, as: UTF8.self)
        } catch {
            throw StoreDamage.value(column, of: row)
        }
    }
}

/// What stands in the way of opening what is sealed.
enum StoreDamage {
    static func value(_ column: String, of row: SealedRow) -> ChatError {
        ChatError(
            .internalError,
            "the \(column) of \(row.name) does not open: it was altered, cut or moved there from another row; restore it "
                + "from a backup")
    }

    static func missing(_ key: StoreKey.ID) -> ChatError {
        ChatError(
            .internalError,
            "the store holds values that are sealed with the key \(key), which is not among the keys it was opened with"
        )
    }
}
