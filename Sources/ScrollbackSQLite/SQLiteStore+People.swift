import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let receipt = Statement<ReceiptRow>(
        "SELECT \(ReceiptRow.columns) FROM receipt WHERE conversation = ? AND userID = ?")

    func receipt(of user: UserID, in conversation: Int64) throws -> ReceiptRow {
        try connection.first(Self.receipt) { $0.add(conversation, user) } ?? ReceiptRow()
    }

    private static let memberCount = Statement(
        "SELECT 1 FROM member WHERE conversation = ? AND standing = 1"
    ) { $0.integer() }

    func memberCount(of conversation: Int64, limit: Int) throws -> Int {
        try connection.all(Self.memberCount, limit: limit) { $0.add(conversation) }.count
    }

    private static let positions = Statement<MemberRow>(
        "SELECT \(MemberRow.columns) FROM member WHERE conversation = ? AND userID > ? ORDER BY userID")

    func positions(in conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow] {
        try connection.all(Self.positions, limit: limit) { $0.add(conversation, after?.text ?? "") }
    }

    private static let invitation = Statement<InvitationRow>(
        "SELECT \(InvitationRow.columns) FROM invitation WHERE conversation = ? AND userID = ?")

    func invitation(of user: UserID, to conversation: Int64) throws -> InvitationRow? {
        try connection.first(Self.invitation) { $0.add(conversation, user) }
    }

    private static let invitationsTo = Statement<InvitationRow>(
        "SELECT \(InvitationRow.columns) FROM invitation WHERE conversation = ? AND userID > ? ORDER BY userID")

    func invitations(to conversation: Int64, after: UserID?, limit: Int) throws -> [InvitationRow] {
        try connection.all(Self.invitationsTo, limit: limit) { $0.add(conversation, after?.text ?? "") }
    }

    private static let invitationsOf = Statement<InvitationRow>(
        """
        SELECT \(InvitationRow.columns) FROM invitation WHERE userID = ? AND conversation > ? ORDER BY conversation
        """)

    func invitations(of user: UserID, after conversation: Int64, limit: Int) throws -> [InvitationRow] {
        try connection.all(Self.invitationsOf, limit: limit) { $0.add(user, conversation) }
    }

    private static let invitationsBy = Statement<InvitationRow>(
        """
        SELECT \(InvitationRow.columns) FROM invitation
        WHERE inviter = ? AND (conversation, userID) > (?, ?) ORDER BY conversation, userID
        """)

    func invitations(by inviter: UserID, after last: InvitationRow?, limit: Int) throws -> [InvitationRow] {
        try connection.all(Self.invitationsBy, limit: limit) {
            $0.add(inviter, last?.conversation ?? 0, last?.user.text ?? "")
        }
    }

    private static let lastSeen = Statement("SELECT lastSeen FROM presence WHERE userID = ?") { $0.optionalDate() }

    func lastSeen(of user: UserID) throws -> Date? {
        try connection.first(Self.lastSeen) { $0.add(user) } ?? nil
    }
}

extension SQLiteWriter {
    private static let putReceipt = Statement(
        """
        INSERT INTO receipt (conversation, userID, \(ReceiptRow.columns)) VALUES (?, ?, ?, ?)
        ON CONFLICT (conversation, userID) DO UPDATE SET seq = excluded.seq, deliveredSeq = excluded.deliveredSeq
        """)

    func put(_ receipt: ReceiptRow, of user: UserID, in conversation: Int64) throws {
        try connection.run(Self.putReceipt) {
            $0.add(conversation, user)
            $0.add(receipt.readSeq, receipt.deliveredSeq)
        }
    }

    private static let putInvitation = Statement(
        """
        INSERT INTO invitation (\(InvitationRow.columns)) VALUES (\(placeholders(InvitationRow.columns)))
        ON CONFLICT (conversation, userID) DO UPDATE
        SET inviter = excluded.inviter, at = excluded.at, until = excluded.until
        """)

    func put(_ invitation: InvitationRow) throws {
        try connection.run(Self.putInvitation) { $0.add(invitation) }
    }

    private static let dropInvitation = Statement("DELETE FROM invitation WHERE conversation = ? AND userID = ?")

    func dropInvitation(of user: UserID, to conversation: Int64) throws {
        try connection.run(Self.dropInvitation) { $0.add(conversation, user) }
    }

    // Uses the index. A DELETE with a subquery would scan all invitations of a conversation.
    private static let endedInvitations = Statement<InvitationRow>(
        "SELECT \(InvitationRow.columns) FROM invitation WHERE until IS NOT NULL AND until <= ? ORDER BY until")

    func dropInvitations(endedBy time: Date, limit: Int) throws -> Int {
        let ended = try connection.all(Self.endedInvitations, limit: limit) { $0.add(time) }
        for row in ended { try dropInvitation(of: row.user, to: row.conversation) }
        return ended.count
    }

    private static let putLastSeen = Statement(
        """
        INSERT INTO presence (userID, lastSeen) VALUES (?, ?)
        ON CONFLICT (userID) DO UPDATE SET lastSeen = excluded.lastSeen
        """)

    func put(lastSeen time: Date, of user: UserID) throws {
        try connection.run(Self.putLastSeen) { $0.add(user, time) }
    }
}

extension ReceiptRow: StoredRow {
    static let columns = "seq, deliveredSeq"

    init(_ columns: inout Columns) {
        self.init(readSeq: columns.integer(), deliveredSeq: columns.integer())
    }
}

extension InvitationRow: StoredRow, Bindable {
    static let columns = "conversation, userID, inviter, at, until"

    init(_ columns: inout Columns) throws {
        self.init(
            conversation: columns.integer(), user: columns.userID(), by: columns.userID(), at: columns.date(),
            until: columns.optionalDate())
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(conversation, user, by)
        parameters.add(at, until)
    }
}
