package import ScrollbackModel

/// An address that the server listens on.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A name or an IP address, without the brackets of an IPv6 address.
    package let host: String
    /// The TCP port.
    ///
    /// 0 selects any free port.
    package let port: Int
    /// The setting that names the address, for errors.
    let parameter: String

    init(host: String, port: Int, parameter: String) {
        self.host = host
        self.port = port
        self.parameter = parameter
    }

    /// Names and addresses that only programs on the same computer can reach, with and without the brackets of URLs.
    static let loopbackHosts: Set<String> = ["127.0.0.1", "::1", "[::1]", "localhost"]

    /// Parses `HOST:PORT`, such as `127.0.0.1:8081` or `[::1]:8081`.
    ///
    /// - Throws: `invalid-parameter`.
    package init(_ text: String, parameter: String) throws(ChatError) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let host = parts.dropLast().joined(separator: ":")
        let isIPv6 = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
        guard let port = parts.last.flatMap({ Int($0) }), (0...65535).contains(port), !host.isEmpty,
            isIPv6 || !host.contains(where: { ":[]".contains($0) })
        else {
            throw .invalidParameter(
                parameter, "must be a host and a port in 0...65535, such as 127.0.0.1:8081 or [::1]:8081")
        }
        self.init(host: isIPv6 ? String(host.dropFirst().dropLast()) : host, port: port, parameter: parameter)
    }

    /// Whether the server can't listen on both addresses: they have the same port, and the same host or a host that
    /// stands for all addresses of its family.
    ///
    /// Different names of one host count as different hosts.
    func overlaps(_ other: ListenAddress) -> Bool {
        guard port != 0, port == other.port else { return false }
        if host.lowercased() == other.host.lowercased() { return true }
        let hosts = [host, other.host]
        let areIPv4 = hosts.allSatisfy { $0.allSatisfy { "0123456789.".contains($0) } }
        let areIPv6 = hosts.allSatisfy { $0.contains(":") }
        return areIPv4 && hosts.contains("0.0.0.0") || areIPv6 && hosts.contains("::")
    }

    /// The host as in a URL.
    var urlHost: String { host.contains(":") ? "[\(host)]" : host }

    package var description: String { "\(urlHost):\(port)" }
}
