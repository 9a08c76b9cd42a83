import Crypto
package import Foundation
package import ScrollbackModel

/// A key that values of a store are sealed with: 256 bits.
package struct StoreKey: Sendable {
    package static let byteCount = 32

    /// Names the key in each value that is sealed with it.
    package let id: ID
    let values: SymmetricKey
    let files: SymmetricKey

    /// What a key is called: made of the key, so that nobody has to name it, and telling nothing about it.
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

    /// - Throws: `invalid-parameter` when there are not 32 bytes.
    package init(_ bytes: some ContiguousBytes) throws(ChatError) {
        let secret = SymmetricKey(data: bytes)
        guard secret.bitCount == 8 * Self.byteCount else {
            throw .invalidParameter(
                "key",
                "must be \(Self.byteCount) bytes, as `openssl rand -base64 32` makes them; it is \(secret.bitCount / 8)"
            )
        }
        // Values and files, and what is shown of the key, each have a key of their own: none tells of another.
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
/// Their text is a line for each key, the newest first: 32 bytes in base64. Empty lines and those that begin with `#` are
/// passed over. A first line `plain` means that nothing is sealed any more; the keys after it open what is sealed yet.
package struct StoreKeys: Sendable {
    /// The newest first.
    package let keys: [StoreKey]
    /// Seals what is written from now on; without it that is kept as it is.
    package let newest: StoreKey?

    /// - Parameters:
    ///   - newest: seals from now on; nothing to take the seals off.
    ///   - older: open what was sealed with them.
    package init(newest: StoreKey?, older: [StoreKey]) {
        self.newest = newest
        keys = (newest.map { [$0] } ?? []) + older
    }

    /// - Throws: `invalid-parameter` naming the line that can't be read, never what is in it.
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
                throw Self.refusal(
                    "line \(index + 1) must be 32 bytes in base64, as `openssl rand -base64 32` makes them")
            }
            let key = try StoreKey(bytes)
            guard !keys.contains(where: { $0.id == key.id }) else {
                throw Self.refusal("line \(index + 1) is a key that is there already: remove it")
            }
            keys.append(key)
        }
        guard isPlain || !keys.isEmpty else {
            throw Self.refusal("there is no key: make one with `openssl rand -base64 32`")
        }
        self.init(newest: isPlain ? nil : keys.first, older: isPlain ? keys : Array(keys.dropFirst()))
    }

    private static func refusal(_ message: String) -> ChatError {
        ChatError(.invalidParameter, message, parameter: "keys")
    }

    /// Says which keys a store takes that were not given, as the end of a sentence that begins with the argument's name.
    package static func refusal(of missing: [StoreKey.ID], given keys: StoreKeys?) -> String {
        func list(_ ids: [StoreKey.ID]) -> String { ids.map(\.description).joined(separator: ", ") }
        let given = keys.map { $0.keys.isEmpty ? "it has no key" : "it has \(list($0.keys.map(\.id)))" }
        return "must have the key \(list(missing)), which this store is sealed with; \(given ?? "no keys are given")"
    }

    package subscript(id: StoreKey.ID) -> StoreKey? { keys.first { $0.id == id } }
}
