import CPostgreSQL
package import ScrollbackModel

/// The URL of a PostgreSQL database, as libpq reads it: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
package struct PostgresURL: Hashable, Sendable {
    /// The URL, which may contain a password.
    package let text: String

    /// Checks a URL without connecting.
    ///
    /// - Throws: `invalid-parameter` for the option `store`, without the password.
    package init(_ text: String) throws(ChatError) {
        guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
            throw .invalidParameter("store", "must be a URL such as postgres://user@host:5432/database")
        }
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(text, &message)
        PQconninfoFree(options)
        defer { PQfreemem(message) }
        guard options != nil else {
            // The message can quote a part of the URL.
            let reason = text.contains("@") ? "" : message.map { ": \(trimmed($0))" } ?? ""
            throw .invalidParameter(
                "store",
                "is not a valid URL\(reason). Use postgres://user:password@host:5432/database, and write special "
                    + "characters of the password as %XX")
        }
        self.text = text
    }
}

/// Returns a message of libpq in one line.
func trimmed(_ message: UnsafePointer<CChar>) -> String {
    String(cString: message).split(whereSeparator: \.isWhitespace).joined(separator: " ")
}
