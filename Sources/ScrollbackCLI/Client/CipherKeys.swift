import Foundation
import Scrollback

/// The keys that messages are encrypted with: `NAME=BASE64,NAME=BASE64` in the environment, which no list of processes
/// shows, the one to encrypt with first.
enum CipherKeys {
    static let variable = "SCROLLBACK_CIPHER_KEYS"

    /// - Returns: nothing where none are set.
    static func cipher(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ChatError) -> MessageCipher? {
        guard let text = environment[variable], !text.isEmpty else { return nil }
        var keys: [MessageCipher.Key] = []
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let key = Data(base64Encoded: String(parts[1])) else {
                throw ChatError(
                    .invalidParameter, "\(variable) must be NAME=BASE64 or several of these with commas between",
                    parameter: variable)
            }
            keys.append(MessageCipher.Key(id: String(parts[0]), key: key))
        }
        return try MessageCipher(keys: keys)
    }
}
