import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteWriter {
    func put(_ ban: BanRow) throws {
        try connection.run(.putBan, bind: { $0.add(ban) })
    }

    func dropBan(of user: UserID, in conversation: Int64) throws {
        try runDelete(.dropBan, user, in: conversation)
    }

    func put(_ report: inout ReportRow) throws {
        let row = report
        try put(&report.number, insert: .insertReport, update: .updateReport) { $0.add(row) }
    }

    func put(_ erasure: inout ErasureRow) throws {
        let row = erasure
        try put(&erasure.number, insert: .insertErasure, update: .updateErasure) { $0.add(row) }
    }

    /// Inserts a row if its number is 0, and assigns its number; otherwise updates the row.
    private func put(
        _ number: inout Int64, insert: Query, update: Query, bind: (inout Parameters) -> Void
    ) throws {
        let given = number
        try connection.run(
            given == 0 ? insert : update,
            bind: {
                bind(&$0)
                if given != 0 { $0.add(given) }
            },
            row: { columns in
                number = columns.integer()
                return true
            })
    }

    func insertParticipant(_ user: UserID, in conversation: Int64) throws {
        try connection.run(
            .insertParticipant,
            bind: {
                $0.add(user.text)
                $0.add(conversation)
            })
    }

    func setSender(_ sender: UserID, at seq: Seq, in conversation: Int64) throws {
        try connection.run(
            .setSender,
            bind: {
                $0.add(sender.text)
                $0.add(conversation)
                $0.add(seq)
            })
    }

    func setSender(_ sender: UserID, ofKey id: MessageID, in conversation: Int64) throws {
        try connection.run(
            .setRetiredSender,
            bind: {
                $0.add(sender.text)
                $0.add(conversation)
                $0.add(id.uuid)
            })
    }

    func setSender(_ sender: UserID, ofMentionOf user: UserID?, at seq: Seq, in conversation: Int64) throws {
        try connection.run(
            .setMentionSender,
            bind: {
                $0.add(sender.text)
                $0.add(conversation)
                $0.add(user?.text ?? "")
                $0.add(seq)
            })
    }

    func setOwner(_ owner: UserID, of media: MediaID) throws {
        try connection.run(
            .setMediaOwner,
            bind: {
                $0.add(owner.text)
                $0.add(media.uuid)
            })
    }

    func forget(_ user: UserID, in conversation: Int64) throws {
        for part: Query in [
            .forgetMember, .forgetSpans, .forgetBits, .forgetDeletedRanges, .forgetMentions, .forgetParticipant,
            .dropMute, .dropBan,
            .forgetReceipt, .dropInvitation, .dropPushLevel,
        ] {
            try runDelete(part, user, in: conversation)
        }
    }

    private func runDelete(_ query: Query, _ user: UserID, in conversation: Int64) throws {
        try connection.run(
            query,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            })
    }

    func forget(_ user: UserID) throws {
        for part: Query in [
            .forgetBlocks, .forgetBlockers, .forgetUploads, .forgetInvitations, .forgetInvited, .forgetLastSeen,
            .forgetPushUser, .forgetPushDevices, .forgetPushLevel, .forgetPushRetries,
        ] {
            try connection.run(part, bind: { $0.add(user.text) })
        }
    }
}
