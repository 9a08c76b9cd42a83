import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import StoreFiles

/// Where the keys of a sealed data directory are.
struct StoreKeyOptions: ParsableArguments {
    @Option(
        help: """
            A file with the keys that messages and files are sealed with, the newest first (or SCROLLBACK_STORE_KEYS).
            """)
    var storeKeys: String?

    @Option(help: "A command that prints these keys instead (or SCROLLBACK_STORE_KEYS_COMMAND).")
    var storeKeysCommand: String?

    /// - Parameter setting: what the configuration says besides.
    func keys(setting: (String) -> String?) throws(ChatError) -> StoreKeys? {
        // What is typed takes the place of what is set elsewhere, whichever of the two it is.
        if storeKeys != nil || storeKeysCommand != nil {
            return try StoreKeys.load(file: storeKeys, command: storeKeysCommand)
        }
        return try StoreKeys.load(file: setting("store.keys"), command: setting("store.keysCommand"))
    }

    func keysFromEnvironment() throws(ChatError) -> StoreKeys? {
        let environment = ProcessInfo.processInfo.environment
        let names = ["store.keys": "SCROLLBACK_STORE_KEYS", "store.keysCommand": "SCROLLBACK_STORE_KEYS_COMMAND"]
        return try keys(setting: { names[$0].flatMap { environment[$0] } })
    }
}
