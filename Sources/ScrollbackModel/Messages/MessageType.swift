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

    /// Text about a message that it quotes: a ``Quote``.
    public static let reference = MessageType(rawValue: "reference")
    /// A place on the earth: a ``Location``.
    public static let location = MessageType(rawValue: "location")

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
