import ScrollbackModel

extension Transaction {
    /// Writes into a conversation's log what was done to it, where the operator wants that: of groups and private channels,
    /// not of what a hundred thousand may join.
    ///
    /// In the transaction of the change, so that neither is there without the other. Whoever is put out is told before they
    /// are, and whoever joins after it: both see it. Rows of the conversation and of `user` that the caller has at hand are
    /// out of date afterwards.
    func note(_ notice: Notice, in id: ConversationID, by user: UserID) throws {
        guard settings.notices, var row = try conversation(id), !row.isDeleted,
            id.kind.traits.membership == .listed || row.isPrivate
        else { return }
        var generator = SystemRandomNumberGenerator()
        let submission = Submission(
            id: MessageID(at: now.date, using: &generator), content: .notice(notice, by: user), attributes: .init())
        let append = Append(
            conversation: id, sender: Caller(user: user, isAdmin: true), submission: submission)
        let message = try insert(
            submission, of: append, at: timetoken(after: row.timetoken), in: &row, permissions: .standard)
        try passOwn(message, by: user, in: row, countBefore: message.n)
        row = try put(row)
        publish(
            .message(
                message.message(in: id, epoch: row.epoch(in: generation)), isListed: isListed(row), origin: nil))
    }
}

extension Transaction {
    /// Of a conversation's settings those that its members see at once.
    func noteChanges(since old: ConversationRow, now new: ConversationRow, by user: UserID) throws {
        if new.name != old.name { try note(Notice(.nameChanged, name: new.name), in: new.id, by: user) }
        if new.avatar != old.avatar { try note(Notice(.avatarChanged), in: new.id, by: user) }
        if new.isFrozen != old.isFrozen { try note(Notice(new.isFrozen ? .frozen : .unfrozen), in: new.id, by: user) }
    }
}

extension MessageRow {
    /// Whether the server wrote it: then it is nobody's own to change or take back.
    var isNotice: Bool { type == .notice && content?.string(at: "event") != nil }

    var notice: Notice? {
        type == .notice ? content.flatMap { MessageContent(known: type, json: $0).notice } : nil
    }

    /// Says what a notice says with another name, of whom it is about and of who did it.
    mutating func rename(_ user: UserID, to replacement: UserID) {
        guard var notice else { return }
        if notice.user == user { notice.user = replacement }
        content = MessageContent.notice(notice, by: sender).json
    }
}
