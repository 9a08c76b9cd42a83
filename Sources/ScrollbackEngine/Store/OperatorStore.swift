package import Foundation
package import ScrollbackModel

/// What the engine asks a snapshot for an operator: who is there, who is banned, what was reported, and what is to be done
/// about somebody who leaves.
package protocol OperatorReader {
    /// Users by name, whose names begin so.
    ///
    /// - Parameter state: only these; without it all but those that were erased.
    func users(prefix: String, state: UserState?, after: UserID?, limit: Int) throws -> [UserRow]
    /// Conversations of a kind by target and part, whose targets begin so; deleted ones too.
    func conversations(
        kind: ConversationKind, prefix: String, after: ConversationID?, limit: Int
    ) throws -> [ConversationRow]
    /// Conversations a user has to do with, by number.
    func memberships(of user: UserID, after conversation: Int64, limit: Int) throws -> [MemberRow]

    /// A ban from a conversation, or (0) from the server; ones that ended may be given still.
    func ban(of user: UserID, in conversation: Int64) throws -> BanRow?
    /// Bans from a conversation, or (0) from the server, by name; ones that ended are among them.
    func bans(in conversation: Int64, after: UserID?, limit: Int) throws -> [BanRow]
    /// Bans that ended at or before a time, longest ended first.
    func bans(endedBefore time: Date, limit: Int) throws -> [BanRow]

    func report(_ number: Int64) throws -> ReportRow?
    /// What somebody reported of one message.
    func report(of message: MessageID, in conversation: Int64, by reporter: UserID) throws -> ReportRow?
    /// Reports by number, newest first, below one.
    func reports(isOpen: Bool?, below number: Int64, limit: Int) throws -> [ReportRow]
    /// Reports somebody made, or whose messages they are about, by number above one.
    func reports(by reporter: UserID, after number: Int64, limit: Int) throws -> [ReportRow]
    func reports(about sender: UserID, after number: Int64, limit: Int) throws -> [ReportRow]

    func erasure(_ number: Int64) throws -> ErasureRow?
    /// By the name it has outside of the store.
    func erasure(named id: UUID) throws -> ErasureRow?
    /// Erasures that have not ended, oldest first.
    func openErasures(limit: Int) throws -> [ErasureRow]

    /// Conversations in which somebody left a trace who had no row as a member there, by number.
    func guestbook(of user: UserID, after conversation: Int64, limit: Int) throws -> [Int64]
    /// Files somebody uploaded, by id.
    func media(of owner: UserID, after id: MediaID?, limit: Int) throws -> [MediaRow]
    /// Places above one where somebody is mentioned by name, lowest first.
    func places(mentioning user: UserID, in conversation: Int64, above seq: Seq, limit: Int) throws -> [Seq]
    /// What is remembered of messages that are gone, by id above one.
    func keys(in conversation: Int64, after id: MessageID, limit: Int) throws -> [KeyRow]
    /// Invitations somebody made, by the conversation's number and who is invited.
    func invitations(by inviter: UserID, after last: InvitationRow?, limit: Int) throws -> [InvitationRow]
}

/// Changes an operator makes.
package protocol OperatorWriter {
    func put(_ ban: BanRow) throws
    func dropBan(of user: UserID, in conversation: Int64) throws
    /// Stores a report; one without a number gets one.
    func put(_ report: inout ReportRow) throws
    /// Stores an erasure; one without a number gets one.
    func put(_ erasure: inout ErasureRow) throws
    /// Remembers that somebody left a trace where they have no row as a member.
    func sign(_ user: UserID, guestbookOf conversation: Int64) throws

    /// Gives a message another sender.
    func setSender(_ sender: UserID, at seq: Seq, in conversation: Int64) throws
    /// Gives what is remembered of a message that is gone another sender.
    func setSender(_ sender: UserID, ofKey id: MessageID, in conversation: Int64) throws
    /// Gives a mention of a user, or of everyone, another sender, where it is remembered.
    func setSender(_ sender: UserID, ofMentionOf user: UserID?, at seq: Seq, in conversation: Int64) throws
    func setOwner(_ owner: UserID, of media: MediaID) throws
    /// Forgets all that a conversation knows of somebody besides their messages and actions: member, times, sets, mentions of
    /// them, mutes and bans.
    func forget(_ user: UserID, in conversation: Int64) throws
    /// Forgets all that belongs to somebody and to no conversation, besides their row: blocks both ways, invitations both
    /// ways, when they were there last, and uploads that are under way.
    func forget(_ user: UserID) throws
}

/// Whether a user may come in.
package enum UserState: Int64, CaseIterable, Sendable {
    case active = 0
    /// An administrator has put them out, for now.
    case deactivated = 1
    /// What is theirs is being removed.
    case erasing = 2
    /// What was theirs is gone. The row says which tokens are too old; who uses the name again is somebody else.
    case erased = 3

    /// As it travels.
    package var name: String {
        switch self {
        case .active: "active"
        case .deactivated: "deactivated"
        case .erasing: "erasing"
        case .erased: "erased"
        }
    }
}

/// A ban as it is stored.
package struct BanRow: Hashable, Sendable {
    /// The conversation's number; 0 for the server.
    package var conversation: Int64
    package var ban: Ban

    package init(conversation: Int64, ban: Ban) {
        self.conversation = conversation
        self.ban = ban
    }
}

/// A reported message, as it was then: neither an edit nor a recall hides it.
package struct ReportRow: Hashable, Sendable {
    /// 0 before it was stored.
    package var number: Int64
    package var conversation: Int64
    package var message: MessageID
    package var seq: Seq
    package var sender: UserID
    package var type: MessageType
    /// Absent once its sender was erased with what they said.
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

/// That somebody is to be erased, or was: the work goes on from where the row says.
package struct ErasureRow: Hashable, Sendable {
    /// What becomes of what they said.
    package enum Messages: Int64, CaseIterable, Sendable {
        /// It stays, under their name.
        case keep = 0
        /// It stays, under a name that says nothing.
        case anonymize = 1
        /// A stub stays at each place.
        case erase = 2

        /// As it travels.
        package var name: String {
            switch self {
            case .keep: "keep"
            case .anonymize: "anonymize"
            case .erase: "erase"
            }
        }
    }

    /// What is gone through, in this order.
    package enum Stage: Int64, Sendable {
        /// Conversations they have to do with.
        case conversations = 0
        /// Conversations in which they are mentioned: any.
        case mentions = 1
        case files = 2
        case reports = 3
        case done = 4
    }

    /// 0 before it was stored.
    package var number: Int64
    /// Outside of the store it goes by this.
    package var id: UUID
    package var user: UserID
    package var messages: Messages
    /// The name that stands in their place.
    package var replacement: UserID
    package var stage = Stage.conversations
    /// How far the stage has come: the last conversation that was gone through, and in the next one the last place; or the last
    /// report.
    package var through: Int64 = 0
    package var throughSeq: Seq = 0
    /// What was changed up to now.
    package var conversationCount: Int64 = 0
    package var messageCount: Int64 = 0
    package var fileCount: Int64 = 0
    package var createdAt: Date
    package var endedAt: Date?
    /// Why the last attempt did not go on, while it has not ended.
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
