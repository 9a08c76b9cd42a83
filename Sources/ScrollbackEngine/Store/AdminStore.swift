package import Foundation
package import ScrollbackModel

/// Read operations for administration: users, bans, reports, erasures and the audit log.
package protocol AdminReader {
    /// Returns users with an ID prefix, ordered by ID.
    ///
    /// - Parameter state: The state of the users to return; `nil` for all except erased users.
    func users(prefix: String, state: UserState?, after: UserID?, limit: Int) throws -> [UserRow]
    /// Returns conversations of a kind whose target has a prefix, ordered by target and part, including deleted ones.
    func conversations(
        kind: ConversationKind, prefix: String, after: ConversationID?, limit: Int
    ) throws -> [ConversationRow]
    /// Returns a user's membership rows, ordered by conversation number.
    func memberships(of user: UserID, after conversation: Int64, limit: Int) throws -> [MemberRow]

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

    func erasure(_ number: Int64) throws -> ErasureRow?
    /// Returns an erasure by its ID, which is unique across stores.
    func erasure(named id: UUID) throws -> ErasureRow?
    /// Returns erasures that have not ended, oldest first.
    func openErasures(limit: Int) throws -> [ErasureRow]

    /// Returns the audit log's entries below a number, newest first.
    func audit(_ filter: AuditFilter, below number: Int64, limit: Int) throws -> [AuditRow]

    /// Returns conversations where a user acted without a membership row, ordered by number.
    func participations(of user: UserID, after conversation: Int64, limit: Int) throws -> [Int64]
    /// Returns the files that a user uploaded, ordered by ID.
    func media(of owner: UserID, after id: MediaID?, limit: Int) throws -> [MediaRow]
    /// Returns sequence numbers above `seq` of messages that mention a user by name, lowest first.
    func places(mentioning user: UserID, in conversation: Int64, above seq: Seq, limit: Int) throws -> [Seq]
    /// Returns the keys of removed messages, ordered by ID.
    func keys(in conversation: Int64, after id: MessageID, limit: Int) throws -> [KeyRow]
    /// Returns invitations that a user made, ordered by conversation number and invited user.
    func invitations(by inviter: UserID, after last: InvitationRow?, limit: Int) throws -> [InvitationRow]
}

/// Write operations for administration.
package protocol AdminWriter {
    func put(_ ban: BanRow) throws
    func dropBan(of user: UserID, in conversation: Int64) throws
    /// Stores a report, and assigns a number to a new one.
    func put(_ report: inout ReportRow) throws
    /// Stores an erasure, and assigns a number to a new one.
    func put(_ erasure: inout ErasureRow) throws
    /// Adds an entry to the audit log, with a number above all earlier numbers.
    func insert(_ row: AuditRow) throws
    /// Changes the user whom entries of the audit log concern.
    func renameAuditUser(_ user: UserID, to replacement: UserID) throws
    /// Deletes at most `limit` entries of the audit log from before a time, and returns how many.
    func dropAudit(before time: Date, limit: Int) throws -> Int
    /// Records that a user acted in a conversation without having a membership row.
    func insertParticipant(_ user: UserID, in conversation: Int64) throws

    /// Changes a message's sender.
    func setSender(_ sender: UserID, at seq: Seq, in conversation: Int64) throws
    /// Changes the sender in the key of a removed message.
    func setSender(_ sender: UserID, ofKey id: MessageID, in conversation: Int64) throws
    /// Changes the sender in a stored mention of a user, or of everyone.
    func setSender(_ sender: UserID, ofMentionOf user: UserID?, at seq: Seq, in conversation: Int64) throws
    func setOwner(_ owner: UserID, of media: MediaID) throws
    /// Deletes all data of a user in a conversation except messages and actions.
    ///
    /// This includes the membership row and spans, bit sets, mentions of the user, mutes and bans.
    func forget(_ user: UserID, in conversation: Int64) throws
    /// Deletes all data of a user outside of conversations, except the user's row.
    ///
    /// This includes blocks and invitations in both directions, the last-seen time, and open uploads.
    func forget(_ user: UserID) throws
}

/// The state of a user account.
package enum UserState: Int64, CaseIterable, Sendable {
    case active = 0
    /// An administrator has deactivated the user.
    case deactivated = 1
    /// The user's data is being erased.
    case erasing = 2
    /// The user's data was erased.
    ///
    /// The row stays because of revoked tokens; the name can be used by a new user.
    case erased = 3

    /// The name in the wire format.
    package var name: String {
        switch self {
        case .active: "active"
        case .deactivated: "deactivated"
        case .erasing: "erasing"
        case .erased: "erased"
        }
    }
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

/// A stored erasure, including its progress.
package struct ErasureRow: Hashable, Sendable {
    /// What happens to the user's messages.
    package enum Messages: Int64, CaseIterable, Sendable {
        /// The messages stay, under the user's name.
        case keep = 0
        /// The messages stay, under an anonymous name.
        case anonymize = 1
        /// The messages are replaced by tombstones.
        case erase = 2

        /// The name in the wire format.
        package var name: String {
            switch self {
            case .keep: "keep"
            case .anonymize: "anonymize"
            case .erase: "erase"
            }
        }
    }

    /// The stages of an erasure, in order.
    package enum Stage: Int64, Sendable {
        /// Conversations where the user has a membership row or acted.
        case conversations = 0
        /// All conversations, for mentions of the user.
        case mentions = 1
        case files = 2
        case reports = 3
        case done = 4
    }

    /// The erasure's number; 0 before it is stored.
    package var number: Int64
    /// The erasure's ID, which is unique across stores.
    package var id: UUID
    package var user: UserID
    package var messages: Messages
    /// The name that replaces the user's name.
    package var replacement: UserID
    package var stage = Stage.conversations
    /// The progress of the stage: the last completed conversation or report.
    package var through: Int64 = 0
    /// The last completed sequence number of the next conversation.
    package var throughSeq: Seq = 0
    /// What was changed so far.
    package var conversationCount: Int64 = 0
    package var messageCount: Int64 = 0
    package var fileCount: Int64 = 0
    package var createdAt: Date
    package var endedAt: Date?
    /// The error of the last attempt, if the erasure has not ended.
    package var error: String?

    package init(id: UUID, user: UserID, messages: Messages, replacement: UserID, createdAt: Date) {
        number = 0
        self.id = id
        self.user = user
        self.messages = messages
        self.replacement = replacement
        self.createdAt = createdAt
    }
}
