import ScrollbackModel

/// What an operator sets about what may be said, and how much of it a room streams.
package struct MannersSettings: Hashable, Sendable {
    package var bannedWords: BannedWordsSetting
    package var webhooks: WebhookSettings
    /// The most messages of one room that are streamed in a second.
    package var roomMessagesPerSecond: Int

    private static let paces = 1...10_000

    package init(
        bannedWords: BannedWordsSetting = .init(), webhooks: WebhookSettings = .init(),
        roomMessagesPerSecond: Int = ServerSettings.standardRoomPace
    ) {
        self.bannedWords = bannedWords
        self.webhooks = webhooks
        self.roomMessagesPerSecond = roomMessagesPerSecond
    }

    func validate() throws(ChatError) {
        try webhooks.validate()
        guard Self.paces.contains(roomMessagesPerSecond) else {
            throw .invalidParameter(
                "roomMessagesPerSecond", "must be in 1...\(Self.paces.upperBound)", limit: Self.paces.upperBound)
        }
    }

    func writeMembers(to writer: inout JSONWriter, withSecrets: Bool) {
        writer.field("roomMessagesPerSecond", roomMessagesPerSecond)
        writer.key("bannedWords")
        bannedWords.write(to: &writer)
        writer.key("webhooks")
        webhooks.write(to: &writer, withSecrets: withSecrets)
    }

    /// Takes over one member.
    ///
    /// - Returns: whether it is one of these settings.
    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "roomMessagesPerSecond":
            guard let pace = Int(exactly: try value.integer()) else {
                throw .invalidParameter(name, "must be in range")
            }
            roomMessagesPerSecond = pace
        case "bannedWords": if try value.null() { bannedWords = .init() } else { try bannedWords.read(&value) }
        case "webhooks": if try value.null() { webhooks = .init() } else { try webhooks.read(&value) }
        default: return false
        }
        return true
    }
}

extension ServerSettings {
    /// How many messages of a room are streamed in a second, where the operator does not say otherwise: more than anybody
    /// reads.
    package static let standardRoomPace = 100
}
