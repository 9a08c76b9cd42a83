import Foundation
package import ScrollbackModel

/// Parses the query of a URL.
package enum QueryParameters {
    /// Returns the values of each parameter, percent-decoded, in the order of the query.
    ///
    /// - Parameter plusIsSpace: Whether `+` means a space, as in HTML forms. File names may contain a `+`.
    /// - Throws: `invalid-parameter` with the name of the parameter that is not percent-encoded UTF-8.
    package static func parse(_ query: String, plusIsSpace: Bool = true) throws(ChatError) -> [String: [String]] {
        var values: [String: [String]] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(parts[0], plusIsSpace),
                let value = decode(parts.count == 2 ? parts[1] : "", plusIsSpace)
            else {
                throw .invalidParameter(String(parts[0]), "must be percent-encoded UTF-8")
            }
            values[name, default: []].append(value)
        }
        return values
    }

    private static func decode(_ text: Substring, _ plusIsSpace: Bool) -> String? {
        (plusIsSpace ? text.replacingOccurrences(of: "+", with: " ") : String(text)).removingPercentEncoding
    }
}
