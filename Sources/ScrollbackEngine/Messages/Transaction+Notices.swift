import ScrollbackModel

extension Transaction {
    /// Writes a notice about a change into the conversation's log, if the setting `notices` is on.
    ///
    /// Only groups and private channels get notices, because public channels can have very many members.
    ///
    /// The notice is part of the transaction of the change. Notices about a removal come before it and those about a
    /// join after it, so the affected user sees both. The caller's copies of the conversation row and of the row of
    /// `user` are stale afterwards.
    func writeNotice(_ notice: Notice, in id: ConversationID, by user: UserID) throws {
        guard settings.notices, var row = try conversation(id), !row.isDeleted,
            id.kind.traits.membership == .listed || row.isPrivate
        else { return }
        var generator = SystemRandomNumberGenerator()
        let submission = Submission(
            id: MessageID(at: now.date, using: &generator), content: .notice(notice, by: user), attributes: .init())
        let append = AppendRequest(
            conversation: id, caller: Caller(user: user, isAdmin: true), submission: submission)
        let message = try insert(append, at: timetoken(after: row.timetoken), in: &row, permissions: .standard)
        try excludeOwnFromUnread(message, by: user, in: row, countBefore: message.countedIndex)
        row = try put(row)
        publish(
            .message(
                message.message(in: id, epoch: row.epoch(in: generation)), notifiesCommunity: notifiesCommunity(row),
                origin: nil
            ))
    }
}

extension Transaction {
    /// Writes notices for changed settings that members see: name, avatar and whether the conversation is frozen.
    func writeChangeNotices(since old: ConversationRow, now new: ConversationRow, by user: UserID) throws {
        if new.name != old.name { try writeNotice(Notice(.nameChanged, name: new.name), in: new.id, by: user) }
        if new.avatar != old.avatar { try writeNotice(Notice(.avatarChanged), in: new.id, by: user) }
        if new.isFrozen != old.isFrozen {
            try writeNotice(Notice(new.isFrozen ? .frozen : .unfrozen), in: new.id, by: user)
        }
    }
}

extension MessageRow {
    /// Whether the server wrote the message, so that no user may edit or delete it as their own.
    var isNotice: Bool { type == .notice && content?.string(at: "event") != nil }

    var notice: Notice? {
        type == .notice ? content.flatMap { MessageContent(known: type, json: $0).notice } : nil
    }

    /// Replaces a user's name in the notice, as the subject and as the author.
    mutating func rename(_ user: UserID, to replacement: UserID) {
        guard var notice else { return }
        if notice.user == user { notice.user = replacement }
        content = MessageContent.notice(notice, by: sender).json
    }
}
