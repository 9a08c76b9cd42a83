import Crypto
import Foundation
package import ScrollbackModel

/// The last segment of an incoming webhook's URL: the webhook's ID and its secret, as `ID.SECRET`.
package struct IncomingWebhookToken: Sendable {
    package let id: Identifier
    package let secret: String

    /// The size of a new secret in bytes, whose text has 43 characters of base64url.
    private static let secretBytes = 32
    private static let maximumIDBytes = 32

    /// Creates a webhook's token with a new secret.
    init(newSecretOf id: Identifier) {
        var generator = SystemRandomNumberGenerator()
        self.id = id
        secret = Data((0..<Self.secretBytes).map { _ in .random(in: 0...255, using: &generator) }).base64URL
    }

    /// Reads the segment of a URL, or returns `nil` if it has another form.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[1].isEmpty, Self.isID(parts[0]) else { return nil }
        id = Identifier(known: parts[0])
        secret = parts[1]
    }

    /// The path of the URL.
    package var path: String { "/v1/hooks/\(id.text).\(secret)" }

    var secretHash: [UInt8] { Array(SHA256.hash(data: Data(secret.utf8))) }

    /// Checks the ID of a new webhook.
    ///
    /// - Throws: `invalid-parameter`.
    static func check(_ id: Identifier) throws(ChatError) {
        guard isID(id.text) else {
            throw .invalidParameter(
                "hook", "must have 1...\(maximumIDBytes) characters a-z, 0-9 and -", limit: maximumIDBytes)
        }
    }

    private static func isID(_ text: String) -> Bool {
        (1...maximumIDBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

extension IncomingWebhookRow {
    /// Returns whether a token has the webhook's secret, in a time that does not depend on the secret.
    func hasSecret(of token: IncomingWebhookToken) -> Bool {
        let (own, other) = (secretHash, token.secretHash)
        return own.count == other.count && zip(own, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
