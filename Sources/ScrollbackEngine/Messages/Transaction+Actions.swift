import ScrollbackModel

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
        hasType(summary.type, value: summary.value)
    }

    /// Whether the action has a type and a value, compared as bytes, like the columns of a store.
    func hasType(_ type: String, value: String) -> Bool {
        self.type.utf8.elementsEqual(type.utf8) && self.value.utf8.elementsEqual(value.utf8)
    }
}
