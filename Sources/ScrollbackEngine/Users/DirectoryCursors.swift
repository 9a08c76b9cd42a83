import Crypto
import Foundation
import ScrollbackModel

/// Encrypts the cursors of searches of the directory.
///
/// A page often ends at a user that the caller must not find, and whose ID its cursor therefore must not reveal.
struct DirectoryCursors: Sendable {
    private let key: SymmetricKey

    /// - Parameter secret: Random bytes that survive restarts, from which the key is derived.
    init(secret: [UInt8]) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Data("scrollback directory cursor".utf8),
            outputByteCount: 32)
    }

    /// Returns the cursor of the page after a user.
    func cursor(after user: UserID) throws -> String {
        // All cursors have the same length, so that their lengths don't reveal the lengths of IDs. No ID has a zero
        // byte.
        var bytes = Array(user.text.utf8)
        bytes += repeatElement(0, count: Identifier.maximumBytes - bytes.count)
        let box = try AES.GCM.seal(bytes, using: key)
        return (Data(box.nonce) + box.ciphertext + box.tag).base64URL
    }

    /// Returns the user at whose ID the page of a cursor ended.
    ///
    /// - Throws: `invalid-parameter` if this server did not create the cursor.
    func user(of cursor: String) throws(ChatError) -> UserID {
        guard let data = Data(base64URL: cursor), let box = try? AES.GCM.SealedBox(combined: data),
            let bytes = try? AES.GCM.open(box, using: key)
        else { throw .unknownCursor }
        return UserID(known: String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
    }
}
