/// The type of a content: a short name, or an application-defined name.
///
/// Application-defined names are in reverse-DNS form (`com.example.poll`) or have the prefix `app:`.
public struct MessageType: RawRepresentable, Hashable, Sendable {
    /// The name, on the wire 1...64 bytes of `a-z A-Z 0-9 . _ : -`.
    public let rawValue: String

    /// The types that this version defines.
    package static let builtIn: [MessageType] = [
        .text, .image, .gif, .file, .voice, .video, .location, .poll, .reference, .command, .notice,
    ]

    /// Creates a type without validating its name; ``init(_:parameter:)`` validates it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Parses the name of a type.
    ///
    /// - Throws: `invalid-parameter` if the name is not 1...64 bytes of `a-z A-Z 0-9 . _ : -`.
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

    /// Plain text; the content is `{"text": …}`.
    public static let text = MessageType(rawValue: "text")
    /// A notice from the server, which does not count as unread and triggers no push.
    public static let notice = MessageType(rawValue: "notice")
    /// A command, which is not stored and reaches only users who are connected at the moment.
    public static let command = MessageType(rawValue: "command")

    /// Text that quotes a message: a ``Quote``.
    public static let reference = MessageType(rawValue: "reference")
    /// A poll: a ``Poll``.
    public static let poll = MessageType(rawValue: "poll")
    /// A geographic location: a ``Location``.
    public static let location = MessageType(rawValue: "location")

    /// An image.
    public static let image = MessageType(rawValue: "image")
    /// An animated image, sent unchanged.
    public static let gif = MessageType(rawValue: "gif")
    /// A file of any type.
    public static let file = MessageType(rawValue: "file")
    /// A voice message.
    public static let voice = MessageType(rawValue: "voice")
    /// A video.
    public static let video = MessageType(rawValue: "video")

    /// The types whose content is a file.
    package static let media: Set<MessageType> = [.image, .gif, .file, .voice, .video]

    /// Whether the content is a file: an image, GIF, file, voice message or video.
    public var isMedia: Bool { Self.media.contains(self) }

    /// The default traits of messages of this type.
    public var traits: MessageTraits {
        switch self {
        case .command: MessageTraits(isStored: false, countsUnread: false, notifies: false, updatesRecents: false)
        case .notice: MessageTraits(isStored: true, countsUnread: false, notifies: false, updatesRecents: true)
        default: MessageTraits(isStored: true, countsUnread: true, notifies: true, updatesRecents: true)
        }
    }
}

extension MessageType: CustomStringConvertible {
    /// The name of the type.
    public var description: String { rawValue }
}
