/// Something for the other side's program and not for a person: it is not stored, and reaches whoever is connected now.
public struct Command: Hashable, Sendable {
    /// What is to be done, 1...128 bytes of UTF-8; both sides agree on the names.
    public var name: String
    /// What it takes to do it.
    public var data: RawJSON?

    /// A command by its name.
    public init(_ name: String, data: RawJSON? = nil) {
        self.name = name
        self.data = data
    }
}

extension MessageContent {
    /// A command.
    ///
    /// - Throws: `invalid-parameter` when its name is empty or above 128 bytes.
    public static func command(_ name: String, data: RawJSON? = nil) throws(ChatError) -> MessageContent {
        let content = MessageContent(.command) { writer in
            writer.field("name", name)
            writer.field("data", data)
        }
        _ = try Command(content.json)
        return content
    }

    /// The command, where the content is one.
    public var command: Command? { type == .command ? try? Command(json) : nil }
}

extension Command {
    private static let longestName = 128

    /// - Throws: `invalid-parameter` when there is no name.
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
