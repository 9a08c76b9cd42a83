/// What a message says: a type and a JSON object that travels byte for byte.
///
/// The types of this version are made and read by name (``text(_:)``, ``location(_:)``, …), an application's own by
/// ``CustomContent``. A type this version does not know keeps its bytes, so a newer app's messages survive a round trip
/// through an older one.
public struct MessageContent: Hashable, Sendable {
    /// Decides what the message does besides being read, and what the JSON must hold.
    public let type: MessageType
    /// The content as it was sent.
    public let json: RawJSON

    /// Content of any type.
    ///
    /// - Throws: `invalid-parameter` when the JSON is not an object, or does not hold what its type takes.
    public init(type: MessageType, json: RawJSON) throws(ChatError) {
        guard json.isObject else { throw .invalidParameter("content", "must be a JSON object") }
        self.init(known: type, json: json)
        try check()
    }

    package init(known type: MessageType, json: RawJSON) {
        self.type = type
        self.json = json
    }

    /// Content whose members are written.
    init(_ type: MessageType, _ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(members)
        self.init(known: type, json: writer.json)
    }

    /// What each type must hold; types that are not listed may hold anything, and what is encrypted has its type outside.
    private func check() throws(ChatError) {
        if encrypted != nil { return }
        switch type {
        case .text: _ = try TextFields(json)
        case .reference: _ = try Quote(json)
        case .image, .gif, .file, .voice, .video: _ = try Media(json)
        case .location: _ = try Location(json)
        case .command: _ = try Command(json)
        default: break
        }
    }

    /// Plain text.
    public static func text(_ text: String) -> MessageContent {
        MessageContent(.text) { $0.field("text", text) }
    }

    /// The content's `text` member, which a content of type `text` or `reference` always has.
    public var text: String? { json.string(at: "text") }
}

/// The members of a `text`.
private struct TextFields {
    init(_ json: RawJSON) throws(ChatError) {
        guard json.string(at: "text") != nil else {
            throw .invalidParameter("content", #"of type text must have a string "text""#)
        }
    }
}
