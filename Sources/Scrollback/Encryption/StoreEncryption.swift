public import Foundation
public import ScrollbackModel
import SQLiteSupport

#if canImport(Security)
    import Security
#endif

/// Encryption of the local store, with keys that the app keeps elsewhere, for example in the Keychain.
///
/// Message texts, drafts, queued messages, names, profiles and app-defined data are encrypted with AES-256 in GCM mode.
/// Each value is bound to its row and column. IDs, times and numbers stay readable. The search index is kept in memory
/// only. Files of messages rely on the protection by the operating system.
///
/// Pass it to ``ChatClient/Configuration/storeEncryption``. Existing data is encrypted in the background while the
/// client is in use. The same applies to a change of the key: the older key is needed until
/// ``ChatClient/waitForStoreEncryption()`` returns.
public struct StoreEncryption: Sendable {
    let keys: StoreKeys

    /// Creates an encryption that encrypts with one key and decrypts with all keys.
    ///
    /// - Parameters:
    ///   - key: 32 random bytes; `nil` to decrypt an encrypted store permanently.
    ///   - olderKeys: The keys that the store was encrypted with before.
    /// - Throws: `invalid-parameter` naming a key that does not have 32 bytes or occurs twice, or if there is no key at
    ///   all.
    public init(key: Data?, olderKeys: [Data] = []) throws(ChatError) {
        let newest: StoreKey? = if let key { try Self.key(key, "key") } else { nil }
        var older: [StoreKey] = []
        for (index, bytes) in olderKeys.enumerated() {
            let key = try Self.key(bytes, "olderKeys[\(index)]")
            guard newest?.id != key.id, !older.contains(where: { $0.id == key.id }) else {
                throw .invalidParameter("olderKeys[\(index)]", "is a duplicate: remove it")
            }
            older.append(key)
        }
        guard newest != nil || !older.isEmpty else {
            throw .invalidParameter("key", "must not be nil if olderKeys is empty")
        }
        keys = StoreKeys(newest: newest, older: older)
    }

    private static func key(_ bytes: Data, _ parameter: String) throws(ChatError) -> StoreKey {
        guard bytes.count == StoreKey.byteCount else {
            throw .invalidParameter(
                parameter, "must be \(StoreKey.byteCount) bytes, is \(bytes.count)", limit: StoreKey.byteCount)
        }
        return try StoreKey(bytes)
    }
}

// Keys must not appear in logs.
extension StoreEncryption: CustomStringConvertible, CustomReflectable {
    /// The IDs of the keys.
    public var description: String { "StoreEncryption(keys: \(keys.keys.map(\.id)))" }
    /// The IDs of the keys.
    public var customMirror: Mirror { Mirror(self, children: ["keys": keys.keys.map(\.id.description)]) }
}

#if canImport(Security)
    extension StoreEncryption {
        /// Returns an encryption with a key in the Keychain, which is created on first use.
        ///
        /// The key is available from the first unlock after a restart, so that background work can open the store. It
        /// never leaves this device: after a backup is restored on another device, the store can't be opened there.
        /// Delete it with ``ChatClient/erase(_:)``; the client then loads sent messages from the server again.
        ///
        /// - Parameters:
        ///   - name: The name of the key, to distinguish several keys of an app.
        ///   - accessGroup: The Keychain access group, to share the key with other apps or extensions; `nil` for the
        ///     app's own.
        /// - Throws: `local-storage` with the system's reason if the Keychain can't be read or written.
        public static func keychain(
            _ name: String = "scrollback.store", accessGroup: String? = nil
        ) throws(ChatError) -> StoreEncryption {
            var item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "scrollback", kSecAttrAccount: name,
                kSecUseDataProtectionKeychain: true,
            ]
            if let accessGroup { item[kSecAttrAccessGroup] = accessGroup }
            if let key = try keychainKey(item) { return try StoreEncryption(key: key) }
            var generator = SystemRandomNumberGenerator()
            let key = Data((0..<StoreKey.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
            let added = item.merging(
                [kSecValueData: key, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly]
            ) { $1 }
            switch SecItemAdd(added as CFDictionary, nil) {
            case errSecSuccess: return try StoreEncryption(key: key)
            // An extension created the key in the meantime.
            case errSecDuplicateItem:
                if let key = try keychainKey(item) { return try StoreEncryption(key: key) }
                throw failure(errSecItemNotFound)
            case let status: throw failure(status)
            }
        }

        private static func keychainKey(_ item: [CFString: Any]) throws(ChatError) -> Data? {
            var found: CFTypeRef?
            let query = item.merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 }
            switch SecItemCopyMatching(query as CFDictionary, &found) {
            case errSecSuccess: return found as? Data
            case errSecItemNotFound: return nil
            case let status: throw failure(status)
            }
        }

        private static func failure(_ status: OSStatus) -> ChatError {
            let reason = SecCopyErrorMessageString(status, nil) as String? ?? "no reason given"
            return ChatError(
                .localStorage, "The store's key can't be read from or written to the Keychain: \(reason) (\(status)).")
        }
    }
#endif
