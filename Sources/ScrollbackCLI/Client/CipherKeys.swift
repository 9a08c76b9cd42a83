import Foundation
import Scrollback

/// Reads message encryption keys from the environment variable `SCROLLBACK_CIPHER_KEYS`, in the form
/// `NAME=BASE64,NAME=BASE64`.
///
/// The first key encrypts. Unlike command-line options, environment variables are hidden from the process list.
enum CipherKeys {
    static let variable = "SCROLLBACK_CIPHER_KEYS"

    /// Returns the message cipher, or `nil` if the variable is not set.
    ///
    /// - Throws: `invalid-parameter` if the variable is malformed.
    static func cipher(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ChatError) -> MessageCipher? {
        guard let text = environment[variable], !text.isEmpty else { return nil }
        var keys: [MessageCipher.Key] = []
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let key = Data(base64Encoded: String(parts[1])) else {
                throw ChatError(
                    .invalidParameter, "\(variable) must have the form NAME=BASE64, or several of these with commas.",
                    parameter: variable)
            }
            keys.append(MessageCipher.Key(id: String(parts[0]), key: key))
        }
        return try MessageCipher(keys: keys)
    }
}
