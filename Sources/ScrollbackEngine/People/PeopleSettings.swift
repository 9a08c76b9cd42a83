import ScrollbackModel

/// What an operator sets about what people are told of each other.
package struct PeopleSettings: Hashable, Sendable {
    /// Whether it is told who has read what.
    package var readReceipts: Bool
    /// Whether it is told who is there.
    package var presence: Bool
    /// Whether changes to a group's members and settings are written into its log.
    package var notices: Bool

    package init(readReceipts: Bool = true, presence: Bool = false, notices: Bool = false) {
        self.readReceipts = readReceipts
        self.presence = presence
        self.notices = notices
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.field("readReceipts", readReceipts)
        writer.field("presence", presence)
        writer.field("notices", notices)
    }

    /// Takes over one member.
    ///
    /// - Returns: whether it is one of these settings.
    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "readReceipts": readReceipts = try value.bool()
        case "presence": presence = try value.bool()
        case "notices": notices = try value.bool()
        default: return false
        }
        return true
    }

    func checkReadReceipts() throws(ChatError) {
        guard readReceipts else {
            throw ChatError(.featureOff, "this server tells nobody who has read: its setting readReceipts is off")
        }
    }

    func checkPresence() throws(ChatError) {
        guard presence else {
            throw ChatError(.featureOff, "this server tells nobody who is there: its setting presence is off")
        }
    }
}
