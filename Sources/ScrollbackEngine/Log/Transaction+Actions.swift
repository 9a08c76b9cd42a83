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
        try checkMayWrite(request.caller, in: row, role: subject.access.role)
        guard !message.isDeleted else {
            throw ChatError(.conflict, "the message was deleted: nothing can be attached to it", parameter: "id")
        }
        guard
            try store.action(at: message.seq, sender, type: type, value: value, in: row.number) == nil
        else { throw ChatError(.conflict, "you attached this already", parameter: "value") }
        let time = timetoken(after: try store.lastAction(in: row.number) ?? Timetoken(rawValue: 0))
        let new = ActionRow(seq: message.seq, timetoken: time, sender: sender, type: type, value: value)
        try store.insert(new, in: row.number)
        try signGuestbook(of: row.number, as: sender)
        add(new, to: &message)
        try change(
            &message, in: &row, operation: request.operation, digest: digest,
            answer: Int64(bitPattern: time.rawValue))
        return action(time)
    }

    /// Takes an action off a message: one's own, or as a moderator anybody's.
    ///
    /// - Throws: `unknown-message` when the message or the action is not there.
    func removeAction(
        from id: MessageID, _ reference: ActionReference, _ request: ChangeRequest, permissions: Permissions
    ) throws {
        let subject = try subject(of: request, permissions: permissions)
        var row = subject.row
        let digest = request.digest("remove-action", id.description, "\(reference)")
        if try earlier(request, digest, in: row) != nil { return }
        var message = try message(id, of: subject)
        let action =
            switch reference {
            case .at(let timetoken): try store.action(at: timetoken, in: row.number)
            case .own(let type, let value):
                try store.action(at: message.seq, request.caller.user, type: type, value: value, in: row.number)
            }
        guard let action, action.seq == message.seq else {
            let isByTime = if case .at = reference { true } else { false }
            throw ChatError(
                .unknownMessage, "the message has no such action", parameter: isByTime ? "timetoken" : "action")
        }
        let needed: Action = action.sender == request.caller.user ? .act : .deleteOthers
        guard permissions[needed, row.id.kind].isMet(by: subject.access.role, isAdmin: request.caller.isAdmin) else {
            throw ChatError(.forbidden, "taking off somebody else's action takes more than you are there")
        }
        try store.removeAction(at: action.timetoken, in: row.number)
        try remove(action, from: &message, in: row)
        try change(&message, in: &row, operation: request.operation, digest: digest)
    }
}

extension Transaction {
    private func add(_ action: ActionRow, to message: inout MessageRow) {
        if let index = message.actions.firstIndex(where: { action.isCounted(in: $0) }) {
            message.actions[index].count += 1
            if message.actions[index].senders.count < ActionSummary.maximumSenders {
                message.actions[index].senders.append(action.sender)
            }
        } else if message.actions.count < ActionSummary.maximum {
            message.actions.append(
                ActionSummary(type: action.type, value: action.value, count: 1, senders: [action.sender]))
        }
    }

    /// Whom a summary has room for now, and which summary a message has, the other actions tell.
    func remove(_ action: ActionRow, from message: inout MessageRow, in row: ConversationRow) throws {
        guard let index = message.actions.firstIndex(where: { action.isCounted(in: $0) }) else { return }
        let wasFull = message.actions.count == ActionSummary.maximum
        message.actions[index].count -= 1
        let summary = message.actions[index]
        if summary.count == 0 {
            message.actions.remove(at: index)
            guard wasFull, let next = try firstUncounted(on: message, in: row) else { return }
            message.actions.append(next)
        } else if let place = summary.senders.firstIndex(of: action.sender) {
            message.actions[index].senders.remove(at: place)
            guard summary.count >= ActionSummary.maximumSenders else { return }
            message.actions[index].senders = try senders(of: summary, on: message, in: row)
        }
    }

    /// A summary of the first action on a message that none of its summaries counts.
    private func firstUncounted(on message: MessageRow, in row: ConversationRow) throws -> ActionSummary? {
        var found: ActionSummary?
        try forEachAction(on: message, in: row) { action in
            if let summary = found {
                guard action.isCounted(in: summary) else { return true }
                found?.count += 1
                if summary.senders.count < ActionSummary.maximumSenders { found?.senders.append(action.sender) }
            } else if !message.actions.contains(where: { action.isCounted(in: $0) }) {
                found = ActionSummary(type: action.type, value: action.value, count: 1, senders: [action.sender])
            }
            return true
        }
        return found
    }

    /// The first people of a summary.
    private func senders(of summary: ActionSummary, on message: MessageRow, in row: ConversationRow) throws -> [UserID]
    {
        var senders: [UserID] = []
        try forEachAction(on: message, in: row) { action in
            if action.isCounted(in: summary) { senders.append(action.sender) }
            return senders.count < ActionSummary.maximumSenders
        }
        return senders
    }

    /// Goes through a message's actions, oldest first, as long as `body` wants more.
    private func forEachAction(
        on message: MessageRow, in row: ConversationRow, _ body: (ActionRow) -> Bool
    ) throws {
        var after: Timetoken?
        while case let some = try store.actions(at: message.seq, in: row.number, after: after, limit: 100),
            let last = some.last
        {
            for action in some where !body(action) { return }
            after = last.timetoken
        }
    }
}

extension ActionRow {
    fileprivate func isCounted(in summary: ActionSummary) -> Bool {
        type.utf8.elementsEqual(summary.type.utf8) && value.utf8.elementsEqual(summary.value.utf8)
    }
}
