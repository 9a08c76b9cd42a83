/// A message for programs, which is not stored and reaches only users who are connected at the moment.
public struct Command: Hashable, Sendable {
    /// The name of the command, 1...128 bytes of UTF-8, which the application defines.
    public var name: String
    /// The arguments of the command.
    public var data: RawJSON?

    /// Creates a command.
    public init(_ name: String, data: RawJSON? = nil) {
        self.name = name
        self.data = data
    }
}

extension MessageContent {
    /// Returns the content of a command.
    ///
    /// - Throws: `invalid-parameter` if the name is empty or longer than 128 bytes.
    public static func command(_ name: String, data: RawJSON? = nil) throws(ChatError) -> MessageContent {
        let content = MessageContent(.command) { writer in
            writer.field("name", name)
            writer.field("data", data)
        }
        _ = try Command(content.json)
        return content
    }

    /// The command, if the content is one.
    public var command: Command? { type == .command ? try? Command(json) : nil }
}

extension Command {
    private static let longestName = 128

    /// Parses the JSON of a command.
    ///
    /// - Throws: `invalid-parameter` if the name is missing, empty or too long.
    init(_ json: RawJSON) throws(ChatError) {
        var name: String?
        var data: RawJSON?
        var reader = JSONReader(json.text, field: "content")
        try reader.object { (member, value) throws(ChatError) in
            switch member {
            case "name": name = try value.string()
            case "data": data = try value.raw()
            default: try value.skip()
            }
        }
        guard let name, (1...Self.longestName).contains(name.utf8.count) else {
            throw .invalidParameter(
                "content", "of type command must have a name of 1...\(Self.longestName) bytes", limit: Self.longestName)
        }
        self.init(name, data: data)
    }
}
