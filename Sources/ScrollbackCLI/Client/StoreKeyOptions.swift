import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import SQLiteSupport

/// The options for the storage encryption keys of a data directory.
struct StoreKeyOptions: ParsableArguments {
    @Option(
        help: """
            A file with the storage encryption keys, the newest first (default: SCROLLBACK_STORE_KEYS).
            """)
    var storeKeys: String?

    @Option(help: "A command that prints the storage encryption keys (default: SCROLLBACK_STORE_KEYS_COMMAND).")
    var storeKeysCommand: String?

    /// Loads the keys.
    ///
    /// - Parameter setting: Returns the value of a setting in the configuration.
    /// - Returns: The keys, or `nil` if none are configured.
    /// - Throws: `invalid-parameter` if the keys can't be loaded.
    func keys(setting: (String) -> String?) throws(ChatError) -> StoreKeys? {
        // Each of the two options takes precedence over both settings.
        if storeKeys != nil || storeKeysCommand != nil {
            return try StoreKeys.load(file: storeKeys, command: storeKeysCommand)
        }
        return try StoreKeys.load(file: setting("store.keys"), command: setting("store.keysCommand"))
    }

    /// The path of the file from which ``keys(setting:)`` loads the keys, or `nil` if there is none.
    func file(setting: (String) -> String?) -> String? {
        storeKeys != nil || storeKeysCommand != nil ? storeKeys : setting("store.keys")
    }

    func keysFromEnvironment() throws(ChatError) -> StoreKeys? {
        let environment = ProcessInfo.processInfo.environment
        let names = ["store.keys": "SCROLLBACK_STORE_KEYS", "store.keysCommand": "SCROLLBACK_STORE_KEYS_COMMAND"]
        return try keys(setting: { names[$0].flatMap { environment[$0] } })
    }
}
