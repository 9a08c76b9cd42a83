package import Foundation

/// How somebody wants to be told by push; it holds on all their devices, and only they see it.
public struct PushPreferences: Hashable, Sendable {
    /// The language of texts and templates, a BCP 47 tag such as `pt-BR`; without one the device's, or else the server's.
    public var language: String?
    /// Whether a push shows who wrote what; otherwise it says only that there is a message (row 144).
    public var showsDetail: Bool
    /// What is pushed in conversations that say nothing else; without one everything, and in communities mentions.
    public var level: NotificationLevel?
    /// When less is pushed.
    public var quietHours: QuietHours?

    /// Preferences; without arguments those of who never set any.
    public init(
        language: String? = nil, showsDetail: Bool = true, level: NotificationLevel? = nil,
        quietHours: QuietHours? = nil
    ) {
        self.language = language
        self.showsDetail = showsDetail
        self.level = level
        self.quietHours = quietHours
    }

    /// What passes in a conversation at a time.
    ///
    /// - Parameters:
    ///   - own: what was set for the conversation itself.
    ///   - isMuted: whether it is muted: then nothing passes, unless mentions were asked for there.
    ///   - kind: which has a level where nobody set one.
    package func level(own: NotificationLevel?, isMuted: Bool, kind: ConversationKind, at now: Date)
        -> NotificationLevel
    {
        let usual = standingLevel(own: own, isMuted: isMuted, kind: kind)
        guard let quietHours, quietHours.contains(now) else { return usual }
        return usual == .none ? .none : quietHours.level
    }

    /// What passes outside of quiet hours.
    package func standingLevel(own: NotificationLevel?, isMuted: Bool, kind: ConversationKind) -> NotificationLevel {
        if isMuted { return own == .mentions ? .mentions : .none }
        return own ?? level ?? kind.traits.pushes
    }
}

/// Languages by their tags.
package enum PushLanguage {
    /// - Throws: `invalid-parameter` when it is no BCP 47 tag as far as its form tells.
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

    /// A tag and those it falls back on (RFC 4647, lookup): `zh-Hant-TW`, `zh-Hant`, `zh`; in lower case.
    package static func ranges(of tag: String) -> [String] {
        var parts = tag.lowercased().split(separator: "-")
        var ranges: [String] = []
        while !parts.isEmpty {
            ranges.append(parts.joined(separator: "-"))
            parts.removeLast()
            // A single letter introduces what follows, and stands for nothing without it.
            while parts.last?.count == 1 { parts.removeLast() }
        }
        return ranges
    }
}
