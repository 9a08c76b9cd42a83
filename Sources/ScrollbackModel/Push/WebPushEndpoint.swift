/// The address of a Web Push subscription: the scheme `https`, a host name and perhaps a port.
///
/// Users choose the address to which the server posts. The server parses it strictly, because lenient parsers disagree
/// about which host an address names.
package struct WebPushEndpoint: Hashable, Sendable {
    /// The host, in the characters `a-z 0-9 . -`.
    package let host: String
    /// The port, if the address names one.
    package let port: Int?

    private static let scheme = "https://"
    private static let longestHost = 253

    /// Parses the token of a device.
    ///
    /// - Throws: `invalid-parameter` if the address has another scheme, a user name, an unusual host, or characters
    ///   other than printable ASCII.
    package init(_ token: String) throws(ChatError) {
        let text = token.utf8
        guard token.hasPrefix(Self.scheme), text.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalidParameter("token", "must be an https URL in printable ASCII characters")
        }
        let authority = token.dropFirst(Self.scheme.count).prefix { !"/?#".contains($0) }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let host = parts[0]
        guard (1...Self.longestHost).contains(host.utf8.count), host.utf8.allSatisfy(Self.isAllowed),
            host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
        else {
            throw .invalidParameter("token", "must have a host of the characters a-z 0-9 . - and no user name")
        }
        self.host = String(host)
        guard parts.count == 2 else {
            port = nil
            return
        }
        guard let port = UInt16(parts[1]), port > 0, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .invalidParameter("token", "must have a port in 1...65535, or none")
        }
        self.port = Int(port)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// The scheme, host and port, as access tokens name the service.
    package var origin: String { Self.scheme + host + (port.map { ":\($0)" } ?? "") }
}
