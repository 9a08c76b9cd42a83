import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteStore {
    /// Creates the tables of read receipts, invitations and presence.
    static func createPeopleTables(_ database: Database) throws {
        try database.execute(
            sql: """
                -- The read position that the peer of a direct conversation may see: at most two rows each.
                CREATE TABLE receipt (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE invitation (
                    conversation INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    inviter TEXT NOT NULL,
                    at REAL NOT NULL,
                    until REAL,
                    PRIMARY KEY (conversation, user)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX invitation_user ON invitation (user, conversation);
                CREATE INDEX invitation_inviter ON invitation (inviter);
                CREATE INDEX invitation_until ON invitation (until) WHERE until IS NOT NULL;

                CREATE TABLE presence (
                    user TEXT NOT NULL PRIMARY KEY,
                    lastSeen REAL NOT NULL
                ) WITHOUT ROWID, STRICT;
                """)
    }
}

extension SQLiteReader {
    func receipt(of user: UserID, in conversation: Int64) throws -> Seq {
        try connection.first(
            .receipt,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            }, row: { $0.integer() }) ?? 0
    }

    func positions(in conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow] {
        try connection.all(
            .positions, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(after?.text ?? "")
            }, row: { try $0.member() })
    }

    func invitation(of user: UserID, to conversation: Int64) throws -> InvitationRow? {
        try connection.first(
            .invitation,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            }, row: { $0.invitation() })
    }

    func invitations(to conversation: Int64, after: UserID?, limit: Int) throws -> [InvitationRow] {
        try connection.all(
            .invitationsTo, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(after?.text ?? "")
            }, row: { $0.invitation() })
    }

    func invitations(of user: UserID, after conversation: Int64, limit: Int) throws -> [InvitationRow] {
        try connection.all(
            .invitationsOf, limit: limit,
            bind: {
                $0.add(user.text)
                $0.add(conversation)
            }, row: { $0.invitation() })
    }

    func invitations(by inviter: UserID, after last: InvitationRow?, limit: Int) throws -> [InvitationRow] {
        try connection.all(
            .invitationsBy, limit: limit,
            bind: {
                $0.add(inviter.text)
                $0.add(last?.conversation ?? 0)
                $0.add(last?.user.text ?? "")
            }, row: { $0.invitation() })
    }

    func lastSeen(of user: UserID) throws -> Date? {
        try connection.first(.lastSeen, bind: { $0.add(user.text) }, row: { $0.optionalDate() }) ?? nil
    }
}

extension SQLiteWriter {
    func putReceipt(_ seq: Seq, of user: UserID, in conversation: Int64) throws {
        try connection.run(
            .putReceipt,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(seq)
            })
    }

    func put(_ invitation: InvitationRow) throws {
        try connection.run(
            .putInvitation,
            bind: {
                $0.add(invitation.conversation)
                $0.add(invitation.user.text)
                $0.add(invitation.by.text)
                $0.add(invitation.at)
                $0.add(invitation.until)
            })
    }

    func dropInvitation(of user: UserID, to conversation: Int64) throws {
        try connection.run(
            .dropInvitation,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            })
    }

    func dropInvitations(endedBy time: Date, limit: Int) throws -> Int {
        let ended = try connection.all(
            .invitationsEnded, limit: limit, bind: { $0.add(time) }, row: { $0.invitation() })
        for row in ended { try dropInvitation(of: row.user, to: row.conversation) }
        return ended.count
    }

    func put(lastSeen time: Date, of user: UserID) throws {
        try connection.run(
            .putLastSeen,
            bind: {
                $0.add(user.text)
                $0.add(time)
            })
    }
}

extension Columns {
    fileprivate mutating func invitation() -> InvitationRow {
        InvitationRow(
            conversation: integer(), user: UserID(known: text()), by: UserID(known: text()),
            at: optionalDate() ?? Date(timeIntervalSinceReferenceDate: 0), until: optionalDate())
    }
}
