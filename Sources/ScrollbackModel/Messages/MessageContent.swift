/// The content of a message: a type and a JSON object that is preserved byte for byte.
///
/// This version creates and reads its own types by name (``text(_:)``, ``location(_:)``, …), and application-defined
/// types with ``CustomContent``. Unknown types keep their bytes, so messages of newer apps survive a round trip through
/// older ones.
public struct MessageContent: Hashable, Sendable {
    /// The type, which determines the message's traits and the required members of the JSON.
    public let type: MessageType
    /// The content as it was sent.
    public let json: RawJSON

    /// Creates content of any type.
    ///
    /// - Throws: `invalid-parameter` if the JSON is not an object or lacks members that its type requires, or if the
    ///   type is neither built in nor application-defined.
    public init(type: MessageType, json: RawJSON) throws(ChatError) {
        try self.init(anyType: type, json: json)
        try type.checkIsKnown()
    }

    /// Creates content whose type another system may have defined: imported and quoted messages, and their edits.
    package init(anyType type: MessageType, json: RawJSON) throws(ChatError) {
        guard json.isObject else { throw .invalidParameter("content", "must be a JSON object") }
        self.init(known: type, json: json)
        try check()
    }

    package init(known type: MessageType, json: RawJSON) {
        self.type = type
        self.json = json
    }

    /// Creates content by writing its members.
    init(_ type: MessageType, _ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(members)
        self.init(known: type, json: writer.json)
    }

    /// Checks the content.
    ///
    /// In encrypted content, only the type and the files are readable.
    private func check() throws(ChatError) {
        if encrypted != nil { return try checkListedFiles() }
        do throws(ChatError) {
            try checkMembers()
        } catch {
            throw encryptionError ?? error
        }
    }

    /// Checks the members that the type requires.
    ///
    /// Other types can have any members.
    private func checkMembers() throws(ChatError) {
        switch type {
        case .text: _ = try TextFields(json)
        case .reference: _ = try Quote(json)
        case .image, .gif, .file, .voice, .video:
            if let name = try Media(json).name { try DisplayText.check(name, "name") }
        case .location: _ = try Location(json)
        case .poll: _ = try Poll(json)
        case .command: _ = try Command(json)
        case _ where type.isCustom: try checkListedFiles()
        default: break
        }
    }

    /// Creates plain text content.
    public static func text(_ text: String) -> MessageContent {
        MessageContent(.text) { $0.field("text", text) }
    }

    /// The `text` member of the content, which the types `text` and `reference` always have.
    public var text: String? { json.string(at: "text") }
}

/// The members of the type `text`.
private struct TextFields {
    init(_ json: RawJSON) throws(ChatError) {
        var text: String?
        var preview: LinkPreview?
        var reader = JSONReader(json.text, field: "content")
        try reader.object { (member, value) throws(ChatError) in
            switch member {
            case "text" where value.nextIsString: text = try value.string()
            case LinkPreview.member: preview = try LinkPreview(&value)
            default: try value.skip()
            }
        }
        guard let text else {
            throw .invalidParameter("content", #"of type text must have a string "text""#)
        }
        try preview?.check(in: text)
    }
}
