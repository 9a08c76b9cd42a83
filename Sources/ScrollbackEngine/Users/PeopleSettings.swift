import ScrollbackModel

/// The administrator's settings for read receipts, presence and notices.
package struct PeopleSettings: Hashable, Sendable {
    /// Whether users can see who has read a message, and in small conversations to whose devices it was delivered.
    package var readReceipts: Bool
    /// Whether users can see who is online.
    package var presence: Bool
    /// Whether changes to members and settings are written into the conversation's log.
    package var notices: Bool
    /// Which users a search of the directory finds.
    ///
    /// It is off by default: a server whose users don't know each other must not reveal who else uses it.
    package var directory = Directory.nobody

    package init(readReceipts: Bool = true, presence: Bool = false, notices: Bool = false) {
        self.readReceipts = readReceipts
        self.presence = presence
        self.notices = notices
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.field("readReceipts", readReceipts)
        writer.field("presence", presence)
        writer.field("notices", notices)
        writer.field("directory", directory.rawValue)
    }

    /// Reads one JSON member.
    ///
    /// - Returns: Whether `name` is one of these settings.
    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "readReceipts": readReceipts = try value.bool()
        case "presence": presence = try value.bool()
        case "notices": notices = try value.bool()
        case "directory":
            let names = Directory.allCases.map(\.rawValue).joined(separator: ", ")
            guard let directory = Directory(rawValue: try value.string()) else {
                throw .invalidParameter("directory", "must be one of \(names)")
            }
            self.directory = directory
        default: return false
        }
        return true
    }

    func checkReadReceipts() throws(ChatError) {
        guard readReceipts else {
            throw ChatError(
                .featureOff, "Read and delivery receipts are turned off on this server (setting readReceipts).")
        }
    }

    func checkPresence() throws(ChatError) {
        guard presence else {
            throw ChatError(.featureOff, "Presence is turned off on this server (setting presence).")
        }
    }
}
