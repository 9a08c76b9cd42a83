/// A JSON value kept as the bytes it came in, so that it leaves byte for byte.
public struct RawJSON: Hashable, Sendable {
    /// The value's text, without white space around it.
    public let text: String

    /// How many objects and arrays may stand inside each other.
    public static let maximumDepth = 32

    /// Takes a JSON text.
    ///
    /// - Throws: `malformed` when it is not one JSON value (RFC 8259); `invalid-parameter` when it is nested deeper than
    ///   ``maximumDepth``.
    public init(_ text: String) throws(ChatError) {
        var reader = JSONReader(text, field: "json")
        let value = try reader.raw()
        try reader.end()
        self = value
    }

    package init(known text: String) {
        self.text = text
    }

    /// Whether two texts are the same bytes; `{"a":1}` and `{ "a": 1 }` are not.
    public static func == (a: RawJSON, b: RawJSON) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    /// Hashes the bytes, as equality compares them.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Whether the value is an object.
    public var isObject: Bool { text.utf8.first == UInt8(ascii: "{") }

    /// The string an object holds under `key`, if it does.
    package func string(at key: String) -> String? {
        guard isObject else { return nil }
        var reader = JSONReader(text)
        var found: String?
        // What was stored was valid, so the only failure left is another type, which means "not there".
        try? reader.object { (name, value) throws(ChatError) in
            if name == key, value.nextIsString { found = try value.string() } else { try value.skip() }
        }
        return found
    }
}

extension RawJSON: CustomStringConvertible {
    /// The value's text.
    public var description: String { text }
}
