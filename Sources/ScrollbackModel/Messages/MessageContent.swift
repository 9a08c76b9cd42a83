/// What a message says: a type and a JSON object that travels byte for byte.
///
/// A type this version does not know keeps its bytes, so a newer app's messages survive a round trip through an older one.
public struct MessageContent: Hashable, Sendable {
    /// Decides what the message does besides being read, and what the JSON must hold.
    public let type: MessageType
    /// The content as it was sent.
    public let json: RawJSON

    /// Content of any type.
    ///
    /// - Throws: `invalid-parameter` when the JSON is not an object, or a `text` has no string `text`.
    public init(type: MessageType, json: RawJSON) throws(ChatError) {
        guard json.isObject else { throw .invalidParameter("content", "must be a JSON object") }
        self.init(known: type, json: json)
        if type == .text, text == nil {
            throw .invalidParameter("content", #"of type text must have a string "text""#)
        }
    }

    package init(known type: MessageType, json: RawJSON) {
        self.type = type
        self.json = json
    }

    /// Plain text.
    public static func text(_ text: String) -> MessageContent {
        var writer = JSONWriter()
        writer.object { $0.field("text", text) }
        return MessageContent(known: .text, json: writer.json)
    }

    /// The content's `text` member, which a content of type `text` always has.
    public var text: String? { json.string(at: "text") }
}

/// The type of a content: a short name, or an application's own, reverse-DNS (`com.example.poll`) or `app:` prefixed.
public struct MessageType: RawRepresentable, Hashable, Sendable {
    /// The name, 1...64 bytes of `a-z A-Z 0-9 . _ : -` on the wire.
    public let rawValue: String

    /// A type by its name, which is not checked here; ``init(_:parameter:)`` checks it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Reads a type's name.
    ///
    /// - Throws: `invalid-parameter` when it is not 1...64 bytes of `a-z A-Z 0-9 . _ : -`.
    public init(_ name: String, parameter: String = "type") throws(ChatError) {
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else {
            throw .invalidParameter(parameter, "must be 1...64 of the characters a-z A-Z 0-9 . _ : -")
        }
        rawValue = name
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }

    /// Plain text: the content is `{"text": …}`.
    public static let text = MessageType(rawValue: "text")
    /// A notice, which nobody counts as unread and no push tells of.
    public static let notice = MessageType(rawValue: "notice")
    /// A command, which is not stored: it reaches whoever is connected now.
    public static let command = MessageType(rawValue: "command")

    /// A picture.
    public static let image = MessageType(rawValue: "image")
    /// A moving picture, sent as it is.
    public static let gif = MessageType(rawValue: "gif")
    /// A file of any kind.
    public static let file = MessageType(rawValue: "file")
    /// A voice message.
    public static let voice = MessageType(rawValue: "voice")
    /// A video.
    public static let video = MessageType(rawValue: "video")

    /// The types whose content is a file of its own.
    package static let media: Set<MessageType> = [.image, .gif, .file, .voice, .video]

    /// Whether its content is a file of its own: an image, GIF, file, voice message or video.
    public var isMedia: Bool { Self.media.contains(self) }

    /// What a message of this type does besides being read.
    public var traits: MessageTraits {
        switch self {
        case .command: MessageTraits(isStored: false, countsUnread: false, notifies: false, updatesRecents: false)
        case .notice: MessageTraits(isStored: true, countsUnread: false, notifies: false, updatesRecents: true)
        default: MessageTraits(isStored: true, countsUnread: true, notifies: true, updatesRecents: true)
        }
    }
}

extension MessageType: CustomStringConvertible {
    /// The name.
    public var description: String { rawValue }
}

/// What a message does besides being read.
///
/// Its type decides; a sender may switch each off for one message, never on.
public struct MessageTraits: Hashable, Sendable {
    /// Whether it goes into the log.
    ///
    /// Otherwise it reaches whoever is connected now and nobody else.
    public var isStored: Bool
    /// Whether it raises the unread count of everybody but its sender; what is not stored never does.
    public var countsUnread: Bool
    /// Whether a push may tell of it.
    ///
    /// It travels with the message; this version's server sends no pushes.
    public var notifies: Bool
    /// Whether it is meant to bring its conversation to the top of the list of recents.
    ///
    /// It travels with the message; this version's list goes by the newest message, whatever this says.
    public var updatesRecents: Bool

    /// Traits that are on unless they are switched off.
    public init(isStored: Bool = true, countsUnread: Bool = true, notifies: Bool = true, updatesRecents: Bool = true) {
        self.isStored = isStored
        self.countsUnread = countsUnread
        self.notifies = notifies
        self.updatesRecents = updatesRecents
    }

    /// These, less what the sender switched off.
    package func less(_ off: MessageTraits) -> MessageTraits {
        MessageTraits(
            isStored: isStored && off.isStored,
            countsUnread: countsUnread && off.countsUnread && isStored && off.isStored,
            notifies: notifies && off.notifies,
            updatesRecents: updatesRecents && off.updatesRecents && isStored && off.isStored)
    }

    /// As a number for storage: a bit for each that is off.
    package var bits: Int64 {
        (isStored ? 0 : 1) | (countsUnread ? 0 : 2) | (notifies ? 0 : 4) | (updatesRecents ? 0 : 8)
    }

    package init(bits: Int64) {
        self.init(
            isStored: bits & 1 == 0, countsUnread: bits & 2 == 0, notifies: bits & 4 == 0,
            updatesRecents: bits & 8 == 0)
    }
}
