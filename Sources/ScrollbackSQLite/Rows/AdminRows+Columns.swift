import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension UserRow: StoredRow, Bindable {
    static let columns = "id, \(updatedColumns)"
    static let updatedColumns = "name, avatar, metadata, rev, revokedAt, state, isBanned, isInvitationOnly"

    init(_ columns: inout Columns) throws {
        let id = columns.userID()
        let encryptedRow = EncryptedRow.user(id)
        let profile = UserProfile(
            id: id, name: try columns.optionalText("name", of: encryptedRow),
            avatar: try columns.optionalText("avatar", of: encryptedRow),
            metadata: try columns.json("metadata", of: encryptedRow))
        self.init(
            profile: profile, rev: columns.integer(), revokedAt: columns.optionalDate(),
            state: UserState(rawValue: columns.integer()) ?? .deactivated, isBanned: columns.flag(),
            isInvitationOnly: columns.flag())
    }

    func bind(to parameters: inout Parameters) {
        let encryptedRow = EncryptedRow.user(profile.id)
        parameters.add(profile.id)
        parameters.add(profile.name, "name", of: encryptedRow)
        parameters.add(profile.avatar, "avatar", of: encryptedRow)
        parameters.add(profile.metadata?.text, "metadata", of: encryptedRow)
        parameters.add(rev, revokedAt, state.rawValue, isBanned)
        parameters.add(isInvitationOnly)
    }
}

extension BanRow: StoredRow, Bindable {
    static let columns = "conversation, userID, \(updatedColumns)"
    static let updatedColumns = "until, by, reason, at"

    init(_ columns: inout Columns) throws {
        let (conversation, user) = (columns.integer(), columns.userID())
        let (until, by) = (columns.date(), columns.userID())
        let reason = try columns.optionalText("reason", of: .ban(conversation, user))
        self.init(
            conversation: conversation,
            ban: Ban(
                id: user, until: until.timeIntervalSinceReferenceDate.isInfinite ? nil : until, reason: reason, by: by,
                at: columns.date()))
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(conversation, ban.id, ban.until ?? Date(timeIntervalSinceReferenceDate: .infinity), ban.by)
        parameters.add(ban.reason, "reason", of: .ban(conversation, ban.id))
        parameters.add(ban.at)
    }
}

extension ReportRow: StoredRow, Bindable {
    static let columns = "number, \(updatedColumns)"
    /// All columns except the number.
    static let updatedColumns = """
        conversation, message, seq, sender, type, timetoken, reporter, content, reason, text, at, isOpen, note, \
        closedBy, closedAt
        """

    init(_ columns: inout Columns) throws {
        let (number, conversation) = (columns.integer(), columns.integer())
        let id = MessageID(try columns.uuid("message"))
        let (seq, sender, type) = (columns.integer(), columns.userID(), MessageType(rawValue: columns.text()))
        let (timetoken, reporter) = (columns.timetoken(), columns.userID())
        let encryptedRow = EncryptedRow.report(id, conversation, reporter)
        let message = MessageRow(
            seq: seq, countedIndex: 0, timetoken: timetoken, id: id, sender: sender, type: type,
            content: try columns.json("content", of: encryptedRow), attributes: .init(), digest: 0)
        self.init(
            conversation: conversation, message: message, reporter: reporter,
            reason: ReportReason(rawValue: columns.text()), text: try columns.optionalText("text", of: encryptedRow),
            at: columns.date())
        self.number = number
        isOpen = columns.flag()
        note = try columns.optionalText("note", of: encryptedRow)
        closedBy = columns.optionalUserID()
        closedAt = columns.optionalDate()
    }

    /// Binds ``updatedColumns``.
    func bind(to parameters: inout Parameters) {
        let encryptedRow = EncryptedRow.report(message, conversation, reporter)
        parameters.add(conversation, message, seq, sender)
        parameters.add(type.rawValue, timetoken, reporter)
        parameters.add(content?.text, "content", of: encryptedRow)
        parameters.add(reason.rawValue)
        parameters.add(text, "text", of: encryptedRow)
        parameters.add(at, isOpen)
        parameters.add(note, "note", of: encryptedRow)
        parameters.add(closedBy, closedAt)
    }
}

extension ErasureRow: StoredRow, Bindable {
    static let columns = "number, \(updatedColumns)"
    /// All columns except the number.
    static let updatedColumns = """
        id, userID, messages, replacement, stage, through, throughSeq, conversationCount, messageCount, fileCount, \
        createdAt, endedAt, error
        """

    init(_ columns: inout Columns) throws {
        let (number, id, user) = (columns.integer(), try columns.uuid("id"), columns.userID())
        let messages: Messages = try columns.enumValue("messages")
        let (replacement, stage): (UserID, Stage) = (columns.userID(), try columns.enumValue("stage"))
        let (through, throughSeq) = (columns.integer(), columns.integer())
        let (conversations, count, files) = (columns.integer(), columns.integer(), columns.integer())
        self.init(id: id, user: user, messages: messages, replacement: replacement, createdAt: columns.date())
        self.number = number
        self.stage = stage
        self.through = through
        self.throughSeq = throughSeq
        conversationCount = conversations
        messageCount = count
        fileCount = files
        endedAt = columns.optionalDate()
        error = columns.optionalText()
    }

    /// Binds ``updatedColumns``.
    func bind(to parameters: inout Parameters) {
        parameters.add(id, user, messages.rawValue, replacement)
        parameters.add(stage.rawValue, through, throughSeq)
        parameters.add(conversationCount, messageCount, fileCount)
        parameters.add(createdAt, endedAt, error)
    }
}
