import ScrollbackModel

extension Transaction {
    /// Attaches an action to a message.
    ///
    /// - Throws: `conflict` if the caller already attached the same action, or if the message was deleted.
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
        if let known = try previousChange(request, digest, in: row) {
            return action(Timetoken(rawValue: UInt64(bitPattern: known.answer)))
        }
        var message = try message(id, of: subject)
        let isPin = type == MessageAction.pin
        try permissions.require(
            isPin ? .pin : .act, in: row.id, as: subject.access.role, by: request.caller,
            to: isPin ? "pin messages" : "add actions")
        try checkMayWrite(request.caller, in: row, role: subject.access.role, now: now.date)
        guard !message.isDeleted else {
            throw ChatError(.conflict, "You can't add an action to a deleted message.", parameter: "id")
        }
        guard
            try store.action(at: message.seq, sender, type: type, value: value, in: row.number) == nil
        else { throw ChatError(.conflict, "You have already added this action to the message.", parameter: "value") }
        if isPin { try checkPin(value, of: message, in: row) }
        let replaced =
            type == MessageAction.vote ? try checkVote(value, in: message, by: sender, of: row) : nil
        let growth = Growth(messageBytes: type.utf8.count + value.utf8.count + Self.rowBytes)
        try checkGrowth(growth, by: request.caller)
        try recordGrowth(growth, by: request.caller)
        let time = timetoken(after: try store.lastAction(in: row.number) ?? Timetoken(rawValue: 0))
        let new = ActionRow(seq: message.seq, timetoken: time, sender: sender, type: type, value: value)
        if let replaced {
            try store.removeAction(at: replaced.timetoken, in: row.number)
            try remove(replaced, from: &message, in: row)
        }
        try store.insert(new, in: row.number)
        try recordParticipant(in: row.number, as: sender)
        message.count(new)
        try change(
            &message, in: &row, operation: request.operation, digest: digest,
            answer: Int64(bitPattern: time.rawValue))
        if let replaced { publish(.acted(row.id, replaced.action(on: id), seq: message.seq, isAdded: false)) }
        publish(.acted(row.id, action(time), seq: message.seq, isAdded: true))
        return action(time)
    }

    /// Removes an action from a message: the caller's own or, with moderator rights, any user's.
    ///
    /// - Throws: `unknown-message` if the message or the action does not exist.
    func removeAction(
        from id: MessageID, _ reference: ActionReference, _ request: ChangeRequest, permissions: Permissions
    ) throws {
        let subject = try subject(of: request, permissions: permissions)
        var row = subject.row
        let digest = request.digest("remove-action", id.description, "\(reference)")
        if try previousChange(request, digest, in: row) != nil { return }
        var message = try message(id, of: subject)
        let action =
            switch reference {
            case .at(let timetoken): try store.action(at: timetoken, in: row.number)
            case .own(MessageAction.pin, MessageAction.pin): try pin(of: message, in: row)
            case .own(let type, let value):
                try store.action(at: message.seq, request.caller.user, type: type, value: value, in: row.number)
            }
        guard let action, action.seq == message.seq else {
            let isByTime = if case .at = reference { true } else { false }
            throw ChatError(
                .unknownMessage, "The message does not have this action.", parameter: isByTime ? "timetoken" : "action")
        }
        let isOwn = action.sender == request.caller.user
        let needed: Permission = action.type == MessageAction.pin ? .pin : isOwn ? .act : .deleteOthers
        try permissions.require(
            needed, in: row.id, as: subject.access.role, by: request.caller, to: "remove this action")
        if action.type == MessageAction.vote, let poll = message.poll { try checkIsOpen(poll) }
        try store.removeAction(at: action.timetoken, in: row.number)
        try remove(action, from: &message, in: row)
        try change(&message, in: &row, operation: request.operation, digest: digest)
        publish(.acted(row.id, action.action(on: id), seq: message.seq, isAdded: false))
    }
}

extension MessageRow {
    /// Adds an action to the message's summaries.
    mutating func count(_ action: ActionRow) {
        if let index = actions.firstIndex(where: { action.isCounted(in: $0) }) {
            actions[index].count += 1
            if actions[index].senders.count < ActionSummary.maximumSenders {
                actions[index].senders.append(action.sender)
            }
        } else if isAlwaysCounted(action.type) || otherCount < ActionSummary.maximum {
            actions.append(ActionSummary(type: action.type, value: action.value, count: 1, senders: [action.sender]))
        }
    }

    /// The number of summaries that the maximum applies to.
    fileprivate var otherCount: Int { actions.count { !isAlwaysCounted($0.type) } }

    /// Whether the message carries the summaries of a type however many others it has.
    ///
    /// Otherwise many reactions could hide the votes of a poll. The server bounds the number of options and pins.
    fileprivate func isAlwaysCounted(_ type: String) -> Bool {
        type == MessageAction.pin || type == MessageAction.vote && poll != nil
    }
}

extension Transaction {
    /// Removes an action from the message's summaries, and fills the free space from the message's other actions.
    func remove(_ action: ActionRow, from message: inout MessageRow, in row: ConversationRow) throws {
        guard let index = message.actions.firstIndex(where: { action.isCounted(in: $0) }) else { return }
        let wasFull = message.otherCount == ActionSummary.maximum && !message.isAlwaysCounted(action.type)
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

    /// Returns a summary for the first action on a message that none of its summaries includes.
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

    /// Returns the first senders of a summary's action.
    private func senders(of summary: ActionSummary, on message: MessageRow, in row: ConversationRow) throws -> [UserID]
    {
        var senders: [UserID] = []
        try forEachAction(on: message, in: row) { action in
            if action.isCounted(in: summary) { senders.append(action.sender) }
            return senders.count < ActionSummary.maximumSenders
        }
        return senders
    }

    /// Calls `body` for each action on a message, oldest first, until `body` returns `false`.
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
