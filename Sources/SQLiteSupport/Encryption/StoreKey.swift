import Crypto
package import Foundation
package import ScrollbackModel

/// A key for storage encryption: 256 bits.
package struct StoreKey: Sendable {
    package static let byteCount = 32

    /// The ID of the key, which each encrypted value contains.
    package let id: ID
    let values: SymmetricKey
    let files: SymmetricKey

    /// The ID of a key, which is derived from the key and reveals nothing about it.
    package struct ID: Hashable, Sendable, CustomStringConvertible {
        package let bits: UInt32

        package init(bits: UInt32) {
            self.bits = bits
        }

        /// Eight hexadecimal digits.
        package var description: String {
            let digits = String(bits, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }
    }

    /// Creates a key.
    ///
    /// - Throws: `invalid-parameter` unless there are exactly 32 bytes.
    package init(_ bytes: some ContiguousBytes) throws(ChatError) {
        let secret = SymmetricKey(data: bytes)
        guard secret.bitCount == 8 * Self.byteCount else {
            throw .invalidParameter(
                "key",
                "must be \(Self.byteCount) bytes, as `openssl rand -base64 32` creates them, has \(secret.bitCount / 8)"
            )
        }
        // Values, files and the ID use separate derived keys, none of which reveals another.
        func derived(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: secret, info: Data("scrollback store \(purpose)".utf8),
                outputByteCount: Self.byteCount)
        }
        values = derived("values")
        files = derived("files")
        id = derived("id").withUnsafeBytes { ID(bits: UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self))) }
    }
}

/// The keys of a store.
///
/// The text form has one key per line, newest first: 32 bytes in base64. Empty lines and lines that start with `#` are
/// ignored. A first line `plain` turns encryption off; the keys after it decrypt existing values.
package struct StoreKeys: Sendable {
    /// The keys, newest first.
    package let keys: [StoreKey]
    /// The key for new values; `nil` stores them unencrypted.
    package let newest: StoreKey?

    /// Creates a set of keys.
    ///
    /// - Parameters:
    ///   - newest: The key for new values; `nil` turns encryption off.
    ///   - older: Further keys for existing values.
    package init(newest: StoreKey?, older: [StoreKey]) {
        self.newest = newest
        keys = (newest.map { [$0] } ?? []) + older
    }

    /// Parses the text form.
    ///
    /// - Throws: `invalid-parameter` naming the invalid line, but never its content.
    package init(text: String) throws(ChatError) {
        var keys: [StoreKey] = []
        var isPlain = false
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated()
        for (index, line) in lines {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line == "plain", keys.isEmpty, !isPlain {
                isPlain = true
                continue
            }
            guard let bytes = Data(base64Encoded: line), bytes.count == StoreKey.byteCount else {
                throw Self.invalidKeysError(
                    "line \(index + 1) must be 32 bytes in base64, as `openssl rand -base64 32` creates them.")
            }
            let key = try StoreKey(bytes)
            guard !keys.contains(where: { $0.id == key.id }) else {
                throw Self.invalidKeysError("line \(index + 1) is a duplicate key; remove it.")
            }
            keys.append(key)
        }
        guard isPlain || !keys.isEmpty else {
            throw Self.invalidKeysError("it contains no key; create one with `openssl rand -base64 32`.")
        }
        self.init(newest: isPlain ? nil : keys.first, older: isPlain ? keys : Array(keys.dropFirst()))
    }

    private static func invalidKeysError(_ message: String) -> ChatError {
        ChatError(.invalidParameter, message, parameter: "keys")
    }

    /// Returns the message for missing keys, as the continuation of the parameter's name.
    package static func missingKeysMessage(for missing: [StoreKey.ID], given keys: StoreKeys?) -> String {
        func list(_ ids: [StoreKey.ID]) -> String { ids.map(\.description).joined(separator: ", ") }
        let given = keys.map { $0.keys.isEmpty ? "it contains no key" : "it contains \(list($0.keys.map(\.id)))" }
        return "must contain the key \(list(missing)), which encrypts this store; \(given ?? "no keys are given")"
    }

    package subscript(id: StoreKey.ID) -> StoreKey? { keys.first { $0.id == id } }
}
