package import ScrollbackModel

extension Mute {
    /// Writes the end of the mute: a time or `"forever"`.
    package func writeMember(to writer: inout JSONWriter) {
        switch self {
        case .until(let date): writer.field("mutedUntil", date)
        case .forever: writer.field("mutedUntil", "forever")
        }
    }

    /// Reads the end of a mute.
    ///
    /// - Throws: `invalid-parameter` if it is neither a time nor `"forever"`.
    package init(from reader: inout JSONReader) throws(ChatError) {
        let text = try reader.string()
        self = text == "forever" ? .forever : .until(try .init(iso8601: text, parameter: "mutedUntil"))
    }
}
