package import Foundation

/// A user's push preferences, which apply to all their devices and are visible only to them.
public struct PushPreferences: Hashable, Sendable {
    /// The language of texts and templates, a BCP 47 tag such as `pt-BR`.
    ///
    /// `nil` means the language of the device or, if it has none, of the server.
    public var language: String?
    /// Whether a push shows the sender and the text; otherwise it only announces a message.
    public var showsDetail: Bool
    /// The level for conversations without a level of their own.
    ///
    /// `nil` means all messages, and mentions in communities.
    public var level: NotificationLevel?
    /// The times with fewer pushes.
    public var quietHours: QuietHours?

    /// Creates preferences; the default arguments are the initial preferences of every user.
    public init(
        language: String? = nil, showsDetail: Bool = true, level: NotificationLevel? = nil,
        quietHours: QuietHours? = nil
    ) {
        self.language = language
        self.showsDetail = showsDetail
        self.level = level
        self.quietHours = quietHours
    }

    /// Returns the level that applies in a conversation at a date.
    ///
    /// - Parameters:
    ///   - own: The level set for the conversation itself.
    ///   - isMuted: Whether the conversation is muted; only the level `mentions` then allows pushes.
    ///   - kind: The kind of the conversation, which has a default level.
    ///   - now: The date.
    package func level(own: NotificationLevel?, isMuted: Bool, kind: ConversationKind, at now: Date)
        -> NotificationLevel
    {
        let base = baseLevel(own: own, isMuted: isMuted, kind: kind)
        guard let quietHours, quietHours.contains(now) else { return base }
        return base == .none ? .none : quietHours.level
    }

    /// Returns the level that applies outside of quiet hours.
    package func baseLevel(own: NotificationLevel?, isMuted: Bool, kind: ConversationKind) -> NotificationLevel {
        if isMuted { return own == .mentions ? .mentions : .none }
        return own ?? level ?? kind.traits.defaultNotificationLevel
    }
}

/// Validation and matching of language tags.
package enum PushLanguage {
    /// Validates the form of a BCP 47 tag.
    ///
    /// - Throws: `invalid-parameter` if the form is invalid.
    package static func check(_ tag: String, _ parameter: String) throws(ChatError) {
        let parts = tag.split(separator: "-", omittingEmptySubsequences: false)
        let isTag = parts.allSatisfy { part in
            (1...8).contains(part.utf8.count)
                && part.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) }
        }
        guard isTag, tag.utf8.count <= 35, (2...3).contains(parts[0].utf8.count) else {
            throw .invalidParameter(parameter, "must be a BCP 47 language tag, such as en or pt-BR")
        }
    }

    /// Returns a tag and its fallbacks in lower case (RFC 4647, lookup): `zh-Hant-TW`, `zh-Hant`, `zh`.
    package static func ranges(of tag: String) -> [String] {
        var parts = tag.lowercased().split(separator: "-")
        var ranges: [String] = []
        while !parts.isEmpty {
            ranges.append(parts.joined(separator: "-"))
            parts.removeLast()
            // A single letter introduces a subtag and has no meaning without it.
            while parts.last?.count == 1 { parts.removeLast() }
        }
        return ranges
    }
}
