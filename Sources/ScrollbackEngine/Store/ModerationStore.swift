package import Foundation
package import ScrollbackModel

/// Read operations for blocks, bans and reports.
package protocol ModerationReader {
    /// Returns the users that a user has blocked, ordered by ID.
    func blocked(by user: UserID, after: UserID?, limit: Int) throws -> [UserID]
    /// Returns the users who have blocked a user, ordered by ID.
    func blockers(of user: UserID, limit: Int) throws -> [UserID]

    /// Returns bans from a conversation, or from the server (``BanRow/server``), ordered by user, including expired
    /// bans.
    func bans(in conversation: Int64, after: UserID?, limit: Int) throws -> [BanRow]
    /// Returns bans that ended at or before a time, in the order in which they ended.
    func bans(endedBefore time: Date, limit: Int) throws -> [BanRow]

    func report(_ number: Int64) throws -> ReportRow?
    /// Returns a user's report of a message.
    func report(of message: MessageID, in conversation: Int64, by reporter: UserID) throws -> ReportRow?
    /// Returns reports below a number, newest first.
    func reports(isOpen: Bool?, below number: Int64, limit: Int) throws -> [ReportRow]
    /// Returns reports by a user with numbers above `number`, ordered by number.
    func reports(by reporter: UserID, after number: Int64, limit: Int) throws -> [ReportRow]
    /// Returns reports about a user's messages with numbers above `number`, ordered by number.
    func reports(about sender: UserID, after number: Int64, limit: Int) throws -> [ReportRow]
}

/// Write operations for blocks, mutes, bans and reports.
package protocol ModerationWriter {
    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws
    /// Mutes a user, or unmutes the user if `mute` is `nil`.
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) throws

    func put(_ ban: BanRow) throws
    func dropBan(of user: UserID, in conversation: Int64) throws
    /// Stores a report, and assigns a number to a new one.
    func put(_ report: inout ReportRow) throws
}

/// A stored ban.
package struct BanRow: Hashable, Sendable {
    /// The value of ``conversation`` for a ban from the server.
    package static let server: Int64 = 0

    /// The conversation's number; ``server`` for the server.
    package var conversation: Int64
    package var ban: Ban

    package init(conversation: Int64, ban: Ban) {
        self.conversation = conversation
        self.ban = ban
    }
}

/// A stored report, with a copy of the message that later edits and deletions don't change.
package struct ReportRow: Hashable, Sendable {
    /// The report's number; 0 before it is stored.
    package var number: Int64
    package var conversation: Int64
    package var message: MessageID
    package var seq: Seq
    package var sender: UserID
    package var type: MessageType
    /// The message's content; `nil` after the sender was erased with their messages.
    package var content: RawJSON?
    package var timetoken: Timetoken
    package var reporter: UserID
    package var reason: ReportReason
    package var text: String?
    package var at: Date
    package var isOpen: Bool
    package var note: String?
    package var closedBy: UserID?
    package var closedAt: Date?

    package init(
        conversation: Int64, message: MessageRow, reporter: UserID, reason: ReportReason, text: String?, at: Date
    ) {
        number = 0
        self.conversation = conversation
        self.message = message.id
        seq = message.seq
        sender = message.sender
        type = message.type
        content = message.content
        timetoken = message.timetoken
        self.reporter = reporter
        self.reason = reason
        self.text = text
        self.at = at
        isOpen = true
    }
}
