package import Foundation

extension URLComponents {
    /// Parses the address of another server to which this server sends requests.
    ///
    /// - Parameter parameter: The parameter that errors name.
    /// - Throws: `invalid-parameter` if the text is not an http or https URL with a host. Also if the URL has a user
    ///   name, a password or a fragment.
    package init(endpoint text: String, of parameter: String) throws(ChatError) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme),
            parts.host?.isEmpty == false, parts.port.map({ (1...65_535).contains($0) }) ?? true
        else {
            throw .invalidParameter(parameter, "must be an http or https URL with a host, of at most 2048 bytes")
        }
        guard parts.user == nil, parts.password == nil, parts.fragment == nil else {
            throw .invalidParameter(parameter, "must not have a user name, a password or a fragment")
        }
        self = parts
    }
}
