/// A JSON value that is stored as its original bytes, so that it is preserved byte for byte.
public struct RawJSON: Hashable, Sendable {
    /// The text of the value, without surrounding white space.
    public let text: String

    /// The maximum nesting depth of objects and arrays.
    public static let maximumDepth = 32

    /// Creates a value from a JSON text.
    ///
    /// - Throws: `malformed` if the text is not one JSON value (RFC 8259); `invalid-parameter` if it is nested deeper
    ///   than ``maximumDepth``.
    public init(_ text: String) throws(ChatError) {
        var reader = JSONReader(text, field: "json")
        let value = try reader.raw()
        try reader.end()
        self = value
    }

    package init(known text: String) {
        self.text = text
    }

    /// Returns whether two texts have the same bytes; `{"a":1}` and `{ "a": 1 }` differ.
    public static func == (a: RawJSON, b: RawJSON) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    /// Hashes the bytes, consistent with equality.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Whether the value is an object.
    public var isObject: Bool { text.utf8.first == UInt8(ascii: "{") }

    /// Returns the string for `key` if the value is an object with such a member.
    package func string(at key: String) -> String? {
        guard isObject else { return nil }
        var reader = JSONReader(text)
        var found: String?
        // Stored values are valid JSON, so an error can only mean that the value is not an object.
        try? reader.object { (name, value) throws(ChatError) in
            if name == key, value.nextIsString { found = try value.string() } else { try value.skip() }
        }
        return found
    }
}

extension RawJSON: CustomStringConvertible {
    /// The text of the value.
    public var description: String { text }
}
