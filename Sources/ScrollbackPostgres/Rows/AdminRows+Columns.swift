import Foundation
import ScrollbackEngine
import ScrollbackModel

extension UserRow: StoredRow, Bindable {
    static let columns = "id, \(updatedColumns)"
    static let updatedColumns = "name, avatar, metadata, rev, revokedAt, state, isBanned, isInvitationOnly"

    init(_ columns: inout Columns) throws {
        let id = columns.userID()
        let profile = UserProfile(
            id: id, name: try columns.optionalUTF8("name"),
            avatar: try columns.optionalUTF8("avatar"),
            metadata: try columns.json("metadata"))
        self.init(
            profile: profile, rev: columns.integer(), revokedAt: columns.optionalDate(),
            state: UserState(rawValue: columns.integer()) ?? .deactivated, isBanned: columns.flag(),
            isInvitationOnly: columns.flag())
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(profile.id)
        parameters.add(utf8: profile.name)
        parameters.add(utf8: profile.avatar)
        parameters.add(utf8: profile.metadata?.text)
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
        let reason = try columns.optionalUTF8("reason")
        self.init(
            conversation: conversation,
            ban: Ban(
                id: user, until: until.timeIntervalSinceReferenceDate.isInfinite ? nil : until, reason: reason, by: by,
                at: columns.date()))
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(conversation, ban.id, ban.until ?? Date(timeIntervalSinceReferenceDate: .infinity), ban.by)
        parameters.add(utf8: ban.reason)
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
        let (seq, sender) = (columns.integer(), columns.userID())
        let type = MessageType(rawValue: try columns.utf8("type"))
        let (timetoken, reporter) = (columns.timetoken(), columns.userID())
        let message = MessageRow(
            seq: seq, countedIndex: 0, timetoken: timetoken, id: id, sender: sender, type: type,
            content: try columns.json("content"), attributes: .init(), digest: 0)
        self.init(
            conversation: conversation, message: message, reporter: reporter,
            reason: ReportReason(rawValue: try columns.utf8("reason")), text: try columns.optionalUTF8("text"),
            at: columns.date())
        self.number = number
        isOpen = columns.flag()
        note = try columns.optionalUTF8("note")
        closedBy = columns.optionalUserID()
        closedAt = columns.optionalDate()
    }

    /// Binds ``updatedColumns``.
    func bind(to parameters: inout Parameters) {
        parameters.add(conversation, message, seq, sender)
        parameters.add(utf8: type.rawValue)
        parameters.add(timetoken, reporter)
        parameters.add(utf8: content?.text)
        parameters.add(utf8: reason.rawValue)
        parameters.add(utf8: text)
        parameters.add(at, isOpen)
        parameters.add(utf8: note)
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
        error = try columns.optionalUTF8("error")
    }

    /// Binds ``updatedColumns``.
    func bind(to parameters: inout Parameters) {
        parameters.add(id, user, messages.rawValue, replacement)
        parameters.add(stage.rawValue, through, throughSeq)
        parameters.add(conversationCount, messageCount, fileCount)
        parameters.add(createdAt, endedAt)
        parameters.add(utf8: error)
    }
}
