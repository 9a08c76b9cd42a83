import ScrollbackModel

extension Transaction {
    /// Attaches an action to a message.
    ///
    /// - Throws: `conflict` when the caller attached the same already, or the message was deleted.
    func addAction(
        to id: MessageID, type: String, value: String, _ request: ChangeRequest, permissions: Permissions
    ) throws -> MessageAction {
        try MessageAction.check(type: type, value: value)
        let subject = try subject(of: request, permissions: permissions)
        var row = subject.row
        let digest = request.digest("action", id.description, type, value)
        let sender = request.caller.user
        func action(_ timetoken: Timetoken) -> MessageAction {
            MessageAction(message: id, timetoken: timetoken, sender: sender, type: type, value: value)
        }
        if let known = try earlier(request, digest, in: row) {
            return action(Timetoken(rawValue: UInt64(bitPattern: known.answer)))
        }
        var message = try message(id, of: subject)
        guard permissions[.act, row.id.kind].isMet(by: subject.access.role, isAdmin: request.caller.isAdmin) else {
            throw ChatError(.forbidden, "attaching actions takes more than you are there")
        }
        guard !message.isDeleted else {
            throw ChatError(.conflict, "the message was deleted: nothing can be attached to it", parameter: "id")
        }
        guard
            try store.action(at: message.seq, sender, type: type, value: value, in: row.number) == nil
        else { throw ChatError(.conflict, "you attached this already", parameter: "value") }
        let time = timetoken(after: try store.lastAction(in: row.number) ?? Timetoken(rawValue: 0))
        try store.insert(
            ActionRow(seq: message.seq, timetoken: time, sender: sender, type: type, value: value), in: row.number)
        try add(type, value, by: sender, to: &message, in: row)
        try change(
            &message, in: &row, operation: request.operation, digest: digest,
            answer: Int64(bitPattern: time.rawValue))
        return action(time)
    }

    /// Takes an action off a message: one's own, or as a moderator anybody's.
    ///
    /// - Throws: `unknown-message` when the message or the action is not there.
    func removeAction(
        from id: MessageID, at timetoken: Timetoken, _ request: ChangeRequest, permissions: Permissions
    ) throws {
        let subject = try subject(of: request, permissions: permissions)
        var row = subject.row
        let digest = request.digest("remove-action", id.description, timetoken.description)
        if try earlier(request, digest, in: row) != nil { return }
        var message = try message(id, of: subject)
        guard let action = try store.action(at: timetoken, in: row.number), action.seq == message.seq else {
            throw ChatError(.unknownMessage, "the message has no action \(timetoken)", parameter: "timetoken")
        }
        let needed: Action = action.sender == request.caller.user ? .act : .deleteOthers
        guard permissions[needed, row.id.kind].isMet(by: subject.access.role, isAdmin: request.caller.isAdmin) else {
            throw ChatError(.forbidden, "taking off somebody else's action takes more than you are there")
        }
        try store.removeAction(at: timetoken, in: row.number)
        message.actions.remove(action.type, action.value, by: action.sender)
        try change(&message, in: &row, operation: request.operation, digest: digest)
    }
}

extension Transaction {
    private func add(
        _ type: String, _ value: String, by user: UserID, to message: inout MessageRow, in row: ConversationRow
    ) throws {
        if let index = message.actions.index(type, value) {
            message.actions[index].count += 1
            if message.actions[index].senders.count < ActionSummary.maximumSenders {
                message.actions[index].senders.append(user)
            }
        } else if message.actions.count < ActionSummary.maximum {
            // There may be some that had no room in the summaries before.
            let same = try store.actions(at: message.seq, in: row.number, after: nil, limit: .max).filter {
                $0.type.utf8.elementsEqual(type.utf8) && $0.value.utf8.elementsEqual(value.utf8)
            }
            message.actions.append(
                ActionSummary(
                    type: type, value: value, count: Int64(same.count),
                    senders: same.prefix(ActionSummary.maximumSenders).map(\.sender)))
        }
    }
}

extension [ActionSummary] {
    fileprivate func index(_ type: String, _ value: String) -> Int? {
        firstIndex { $0.type.utf8.elementsEqual(type.utf8) && $0.value.utf8.elementsEqual(value.utf8) }
    }

    fileprivate mutating func remove(_ type: String, _ value: String, by user: UserID) {
        guard let index = index(type, value) else { return }
        self[index].count -= 1
        self[index].senders.removeAll { $0 == user }
        if self[index].count <= 0 { remove(at: index) }
    }
}
