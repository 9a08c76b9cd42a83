import Foundation
package import ScrollbackModel

/// The place of an external token issuer's public keys.
package enum KeyLocation: Hashable, Sendable {
    /// The path of a file with public keys (PEM or a JWK Set), or of a directory with such files.
    case files(String)
    case url(KeyURL)

    /// Parses a path or a URL.
    ///
    /// - Throws: `invalid-parameter` if the text is a URL, but not an https URL or an http URL of this machine.
    package init(_ text: String) throws(ChatError) {
        self = text.contains("://") ? .url(try KeyURL(text)) : .files(text)
    }
}

/// The URL of an issuer's JWK Set (RFC 7517), or of its metadata (OpenID Connect Discovery).
package struct KeyURL: Hashable, Sendable {
    let url: URL

    private static let discoveryPath = "/.well-known/openid-configuration"

    /// Parses a URL.
    ///
    /// - Throws: `invalid-parameter`.
    init(_ text: String) throws(ChatError) {
        let parts = try URLComponents(endpoint: text, of: "token-keys")
        guard let url = parts.url, parts.scheme == "https" || ListenAddress.loopbackHosts.contains(parts.host ?? "")
        else {
            throw .invalidParameter(
                "token-keys", "must be an https URL: http is only for 127.0.0.1, [::1] and localhost")
        }
        self.url = url
    }

    var text: String { url.absoluteString }

    /// The issuer's name except for a slash at the end, or `nil` if this is the URL of a JWK Set.
    ///
    /// The metadata are at a URL that starts with the name of the issuer.
    var issuer: String? {
        text.hasSuffix(Self.discoveryPath) ? String(text.dropLast(Self.discoveryPath.count)) : nil
    }
}
