import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

// Conversions between columns, parameters and the rows of bans, reports and erasures, in the column order of `Query`.

extension Columns {
    private mutating func date() -> Date { optionalDate() ?? Date(timeIntervalSinceReferenceDate: 0) }

    mutating func ban() throws -> BanRow {
        let conversation = integer()
        let user = UserID(known: text())
        let until = date()
        let by = UserID(known: text())
        let reason = try optionalText("reason", of: .ban(conversation, user))
        return BanRow(
            conversation: conversation,
            ban: Ban(
                id: user, until: until.timeIntervalSinceReferenceDate.isInfinite ? nil : until, reason: reason, by: by,
                at: date()))
    }

    mutating func report() throws -> ReportRow {
        let number = integer()
        let conversation = integer()
        guard let id = optionalUUID() else { throw Self.unreadable("message") }
        let seq = integer()
        let sender = UserID(known: text())
        let type = MessageType(rawValue: text())
        let timetoken = Timetoken(rawValue: bits())
        let reporter = UserID(known: text())
        let encryptedRow = EncryptedRow.report(MessageID(id), conversation, reporter)
        let message = MessageRow(
            seq: seq, countedIndex: 0, timetoken: timetoken, id: MessageID(id), sender: sender, type: type,
            content: try json("content", of: encryptedRow), attributes: .init(), digest: 0)
        let reason = ReportReason(rawValue: text())
        let reportText = try optionalText("text", of: encryptedRow)
        var row = ReportRow(
            conversation: conversation, message: message, reporter: reporter, reason: reason, text: reportText,
            at: date())
        row.number = number
        row.isOpen = flag()
        row.note = try optionalText("note", of: encryptedRow)
        row.closedBy = optionalText().map { UserID(known: $0) }
        row.closedAt = optionalDate()
        return row
    }

    mutating func erasure() throws -> ErasureRow {
        let number = integer()
        guard let id = optionalUUID() else { throw Self.unreadable("id") }
        let user = UserID(known: text())
        guard let messages = ErasureRow.Messages(rawValue: integer()) else { throw Self.unreadable("messages") }
        let replacement = UserID(known: text())
        guard let stage = ErasureRow.Stage(rawValue: integer()) else { throw Self.unreadable("stage") }
        let (through, throughSeq) = (integer(), integer())
        let (conversations, count, files) = (integer(), integer(), integer())
        var row = ErasureRow(
            id: id, user: user, messages: messages, replacement: replacement, createdAt: date())
        row.number = number
        row.stage = stage
        row.through = through
        row.throughSeq = throughSeq
        row.conversationCount = conversations
        row.messageCount = count
        row.fileCount = files
        row.endedAt = optionalDate()
        row.error = optionalText()
        return row
    }
}

extension Parameters {
    mutating func add(_ row: BanRow) {
        add(row.conversation)
        add(row.ban.id.text)
        add(row.ban.until ?? Date(timeIntervalSinceReferenceDate: .infinity))
        add(row.ban.by.text)
        add(row.ban.reason, "reason", of: .ban(row.conversation, row.ban.id))
        add(row.ban.at)
    }

    /// Binds all columns except the number.
    mutating func add(_ row: ReportRow) {
        let encryptedRow = EncryptedRow.report(row.message, row.conversation, row.reporter)
        add(row.conversation)
        add(row.message.uuid)
        add(row.seq)
        add(row.sender.text)
        add(row.type.rawValue)
        add(bits: row.timetoken.rawValue)
        add(row.reporter.text)
        add(row.content?.text, "content", of: encryptedRow)
        add(row.reason.rawValue)
        add(row.text, "text", of: encryptedRow)
        add(row.at)
        add(row.isOpen)
        add(row.note, "note", of: encryptedRow)
        add(row.closedBy?.text)
        add(row.closedAt)
    }

    /// Binds all columns except the number.
    mutating func add(_ row: ErasureRow) {
        add(row.id)
        add(row.user.text)
        add(row.messages.rawValue)
        add(row.replacement.text)
        add(row.stage.rawValue)
        add(row.through)
        add(row.throughSeq)
        add(row.conversationCount)
        add(row.messageCount)
        add(row.fileCount)
        add(row.createdAt)
        add(row.endedAt)
        add(row.error)
    }
}
