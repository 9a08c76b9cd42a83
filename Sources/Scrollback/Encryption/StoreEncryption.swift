public import Foundation
public import ScrollbackModel
import StoreFiles

#if canImport(Security)
    import Security
#endif

/// Encrypts what a client keeps on its device, with keys that the app keeps apart from it: in the Keychain, for example.
///
/// Texts of messages, drafts, what waits to be sent, names and profiles, and what the app keeps with them, are encrypted by
/// AES-256 in GCM, each bound to its place. Ids, times and numbers stay readable; the index of words is in memory alone; files
/// of messages are left to the system's own protection.
///
/// Give it to ``ChatClient/Configuration/storeEncryption``. What was stored before is encrypted while the client is used. So
/// it is when the key is changed; the older one is needed until ``ChatClient/storeEncrypted()`` returns.
public struct StoreEncryption: Sendable {
    let keys: StoreKeys

    /// Encrypts with a key and reads with all.
    ///
    /// - Parameters:
    ///   - key: 32 bytes from a source of random bytes; nothing to decrypt a store that was encrypted, and leave it so.
    ///   - olderKeys: those it was encrypted with before.
    /// - Throws: `invalid-parameter` naming the key that has not 32 bytes or is there twice, or where there is none at all.
    public init(key: Data?, olderKeys: [Data] = []) throws(ChatError) {
        let newest: StoreKey? = if let key { try Self.key(key, "key") } else { nil }
        var older: [StoreKey] = []
        for (index, bytes) in olderKeys.enumerated() {
            let key = try Self.key(bytes, "olderKeys[\(index)]")
            guard newest?.id != key.id, !older.contains(where: { $0.id == key.id }) else {
                throw .invalidParameter("olderKeys[\(index)]", "is there already: remove it")
            }
            older.append(key)
        }
        guard newest != nil || !older.isEmpty else {
            throw .invalidParameter("key", "must be a key, or olderKeys must have those to decrypt the store with")
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

// Keys are in no log.
extension StoreEncryption: CustomStringConvertible, CustomReflectable {
    /// What its keys are called.
    public var description: String { "StoreEncryption(keys: \(keys.keys.map(\.id)))" }
    /// What its keys are called.
    public var customMirror: Mirror { Mirror(self, children: ["keys": keys.keys.map(\.id.description)]) }
}

#if canImport(Security)
    extension StoreEncryption {
        /// Encrypts with a key of the Keychain, which is made there the first time.
        ///
        /// The key is available from the first unlock after a restart, so that background work can open the store, and
        /// never leaves this device: on another one, to which a backup was restored, the store can't be opened. Erase it there
        /// with ``ChatClient/erase(_:)``, and what was sent is loaded anew.
        ///
        /// - Parameters:
        ///   - name: tells keys of an app apart.
        ///   - accessGroup: of the Keychain, to share the key with other apps or extensions; without one the app's own.
        /// - Throws: `local-storage` with the system's reason when the Keychain can't be read or written.
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
            // An extension was faster.
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
            return ChatError(.localStorage, "the Keychain has no key for the store: \(reason) (\(status))")
        }
    }
#endif
