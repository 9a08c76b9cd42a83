import ScrollbackModel
package import ScrollbackWire

extension RemoveAction: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        try transaction.removeAction(
            from: id, action, request(by: context.caller), permissions: context.permissions)
        return EmptyAnswer()
    }

    package func footprints(for caller: Caller) -> [Footprint] {
        let isOwn = if case .own = action { true } else { false }
        return request(by: caller).footprints([id], changesActions: isOwn)
    }

    private func request(by caller: Caller) -> ChangeRequest {
        ChangeRequest(toLog: conversation, by: caller, operation: operation)
    }
}

extension Transaction {
    /// Removes an action from a message: the caller's own or, with moderator rights, any user's.
    ///
    /// - Throws: `unknown-message` if the message or the action does not exist.
    fileprivate func removeAction(
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
                try store.actions(at: message.seq, by: request.caller.user, in: row.number)
                    .first { $0.hasType(type, value: value) }
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
        let growth = Growth(messageBytes: message.storedBytes)
        try checkGrowth(growth, by: request.caller, adding: nil)
        try recordGrowth(growth, by: request.caller)
        try store.removeAction(at: action.timetoken, in: row.number)
        try remove(action, from: &message, in: row)
        try change(&message, in: &row, operation: request.operation, digest: digest)
        publish(.acted(row.id, action.action(on: id), seq: message.seq, isAdded: false))
    }
}
