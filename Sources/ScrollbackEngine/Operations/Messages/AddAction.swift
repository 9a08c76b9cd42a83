import ScrollbackModel
package import ScrollbackWire

extension AddAction: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        try context.engine.checkTexts([("type", action.type), ("value", action.value)])
        let added = try transaction.addAction(
            to: id, type: action.type, value: action.value, request(by: context.caller),
            permissions: context.permissions)
        return Answer(action: added)
    }

    package func footprints(for caller: Caller) -> [Footprint] {
        request(by: caller).footprints([id], changesActions: true)
    }

    private func request(by caller: Caller) -> ChangeRequest {
        ChangeRequest(toLog: conversation, by: caller, operation: operation)
    }
}

extension Transaction {
    /// The maximum number of a user's actions on one message.
    private static let maximumActions = 50

    /// Attaches an action to a message.
    ///
    /// - Throws: `conflict` if the caller already attached the same action or too many, or if the message was deleted.
    fileprivate func addAction(
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
        let own = try store.actions(at: message.seq, by: sender, in: row.number)
        guard !own.contains(where: { $0.hasType(type, value: value) }) else {
            throw ChatError(.conflict, "You have already added this action to the message.", parameter: "value")
        }
        guard own.count < Self.maximumActions else {
            throw ChatError(
                .conflict, "You have added \(Self.maximumActions) actions to this message. Remove one first.",
                parameter: "value", limit: Self.maximumActions)
        }
        if isPin { try checkPin(value, of: message, in: row) }
        let replaced =
            type == MessageAction.vote ? try checkVote(value, in: message, own: own) : nil
        let growth = Growth(
            messageBytes: type.utf8.count + value.utf8.count + Self.rowBytes + message.storedBytes)
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
}
