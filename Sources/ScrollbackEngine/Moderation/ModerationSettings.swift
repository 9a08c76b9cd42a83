import ScrollbackModel

/// The settings for moderation filters, webhooks and the rate limit of rooms.
package struct ModerationSettings: Hashable, Sendable {
    package var bannedWords: BannedWordsSetting
    package var webhooks: WebhookSettings
    /// The maximum number of messages per second that are delivered live in one room.
    package var roomMessagesPerSecond: Int

    private static let roomMessageRates = 1...10_000

    package init(
        bannedWords: BannedWordsSetting = .init(), webhooks: WebhookSettings = .init(),
        roomMessagesPerSecond: Int = ServerSettings.defaultRoomMessagesPerSecond
    ) {
        self.bannedWords = bannedWords
        self.webhooks = webhooks
        self.roomMessagesPerSecond = roomMessagesPerSecond
    }

    func validate() throws(ChatError) {
        try webhooks.validate()
        guard Self.roomMessageRates.contains(roomMessagesPerSecond) else {
            throw .invalidParameter(
                "roomMessagesPerSecond", "must be in 1...\(Self.roomMessageRates.upperBound)",
                limit: Self.roomMessageRates.upperBound)
        }
    }

    func writeMembers(to writer: inout JSONWriter, withSecrets: Bool) {
        writer.field("roomMessagesPerSecond", roomMessagesPerSecond)
        writer.key("bannedWords")
        bannedWords.write(to: &writer)
        writer.key("webhooks")
        webhooks.write(to: &writer, withSecrets: withSecrets)
    }

    /// Reads one JSON member.
    ///
    /// - Returns: Whether `name` is one of these settings.
    mutating func read(
        _ name: String, _ value: inout JSONReader, unknown: UnknownSettings
    ) throws(ChatError) -> Bool {
        switch name {
        case "roomMessagesPerSecond":
            guard let pace = Int(exactly: try value.integer()) else {
                throw .invalidParameter(name, "must be in range")
            }
            roomMessagesPerSecond = pace
        case "bannedWords":
            if try value.null() { bannedWords = .init() } else { try bannedWords.read(&value, unknown: unknown) }
        case "webhooks":
            if try value.null() { webhooks = .init() } else { try webhooks.read(&value, unknown: unknown) }
        default: return false
        }
        return true
    }
}

extension ServerSettings {
    /// The default rate limit of rooms, in messages per second, which exceeds what users can read.
    package static let defaultRoomMessagesPerSecond = 100
}
