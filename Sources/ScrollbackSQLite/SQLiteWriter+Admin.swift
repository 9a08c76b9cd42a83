import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteWriter {
    private static let putBan = Statement(
        """
        INSERT INTO ban (\(BanRow.columns)) VALUES (\(placeholders(BanRow.columns)))
        ON CONFLICT (conversation, userID) DO UPDATE
        SET (\(BanRow.updatedColumns)) = (\(excluded(BanRow.updatedColumns)))
        """)

    func put(_ ban: BanRow) throws {
        try connection.run(Self.putBan) { $0.add(ban) }
    }

    private static let dropBan = Statement("DELETE FROM ban WHERE conversation = ? AND userID = ?")

    func dropBan(of user: UserID, in conversation: Int64) throws {
        try connection.run(Self.dropBan) { $0.add(conversation, user) }
    }

    private static let insertReport = Statement(
        """
        INSERT INTO report (\(ReportRow.updatedColumns)) VALUES (\(placeholders(ReportRow.updatedColumns)))
        RETURNING number
        """
    ) { $0.integer() }
    private static let updateReport = Statement(
        "UPDATE report SET (\(ReportRow.updatedColumns)) = (\(placeholders(ReportRow.updatedColumns))) WHERE number = ?"
    )

    func put(_ report: inout ReportRow) throws {
        let row = report
        if row.number == 0 {
            report.number = try connection.first(Self.insertReport) { $0.add(row) } ?? 0
        } else {
            try connection.run(Self.updateReport) { $0.add(row, row.number) }
        }
    }

    private static let insertErasure = Statement(
        """
        INSERT INTO erasure (\(ErasureRow.updatedColumns)) VALUES (\(placeholders(ErasureRow.updatedColumns)))
        RETURNING number
        """
    ) { $0.integer() }
    private static let updateErasure = Statement(
        """
        UPDATE erasure SET (\(ErasureRow.updatedColumns)) = (\(placeholders(ErasureRow.updatedColumns)))
        WHERE number = ?
        """
    )

    func put(_ erasure: inout ErasureRow) throws {
        let row = erasure
        if row.number == 0 {
            erasure.number = try connection.first(Self.insertErasure) { $0.add(row) } ?? 0
        } else {
            try connection.run(Self.updateErasure) { $0.add(row, row.number) }
        }
    }

    private static let insertParticipant = Statement(
        "INSERT INTO participant (userID, conversation) VALUES (?, ?) ON CONFLICT DO NOTHING")

    func insertParticipant(_ user: UserID, in conversation: Int64) throws {
        try connection.run(Self.insertParticipant) { $0.add(user, conversation) }
    }

    private static let setSender = Statement("UPDATE message SET sender = ? WHERE conversation = ? AND seq = ?")

    func setSender(_ sender: UserID, at seq: Seq, in conversation: Int64) throws {
        try connection.run(Self.setSender) { $0.add(sender, conversation, seq) }
    }

    private static let setSenderOfKey = Statement("UPDATE messageKey SET sender = ? WHERE conversation = ? AND id = ?")

    func setSender(_ sender: UserID, ofKey id: MessageID, in conversation: Int64) throws {
        try connection.run(Self.setSenderOfKey) { $0.add(sender, conversation, id) }
    }

    private static let setSenderOfMention = Statement(
        "UPDATE mention SET sender = ? WHERE conversation = ? AND userID = ? AND seq = ?")

    func setSender(_ sender: UserID, ofMentionOf user: UserID?, at seq: Seq, in conversation: Int64) throws {
        try connection.run(Self.setSenderOfMention) { $0.add(sender, conversation, user?.text ?? "", seq) }
    }

    private static let setOwner = Statement("UPDATE media SET owner = ? WHERE id = ?")

    func setOwner(_ owner: UserID, of media: MediaID) throws {
        try connection.run(Self.setOwner) { $0.add(owner, media.uuid) }
    }

    private static let forgetInConversation: [Statement<Void>] = [
        "member", "span", "deletedRange", "mention", "participant", "mute", "ban", "receipt", "invitation", "pushLevel",
        "threadState",
    ].map { Statement("DELETE FROM \($0) WHERE conversation = ? AND userID = ?") }
    private static let forgetBits = Statement("DELETE FROM bits WHERE conversation = ? AND kind = 2 AND userID = ?")

    func forget(_ user: UserID, in conversation: Int64) throws {
        for statement in Self.forgetInConversation + [Self.forgetBits] {
            try connection.run(statement) { $0.add(conversation, user) }
        }
    }

    private static let forgetUser: [Statement<Void>] = [
        "block WHERE userID = ?", "block WHERE blocked = ?", "upload WHERE owner = ? AND state = 0",
        "invitation WHERE userID = ?", "invitation WHERE inviter = ?", "presence WHERE userID = ?",
        "pushUser WHERE userID = ?", "pushDevice WHERE userID = ?", "pushLevel WHERE userID = ?",
        "pushRetry WHERE userID = ?", "usage WHERE userID = ?", "draft WHERE userID = ?",
        "scheduled WHERE userID = ?", "cancelled WHERE userID = ?", "incomingWebhook WHERE userID = ?",
    ].map { Statement("DELETE FROM \($0)") }

    func forget(_ user: UserID) throws {
        for statement in Self.forgetUser { try connection.run(statement) { $0.add(user) } }
    }
}
