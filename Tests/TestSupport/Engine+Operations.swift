package import ScrollbackEngine
package import ScrollbackModel
import ScrollbackWire

// The operations that many tests carry out, as methods that complete with the essential part of the answer.

extension Engine {
    package func putConversation(
        _ id: ConversationID, _ settings: ConversationSettings, exists: Bool? = nil, operation: MessageID? = nil,
        by caller: Caller, completion: @escaping Completion<Bool>
    ) {
        execute(
            PutConversation(conversation: id, settings: settings, exists: exists, operation: operation), by: caller
        ) { completion($0.map(\.isNew)) }
    }

    package func deleteConversation(_ id: ConversationID, by caller: Caller, completion: @escaping Completion<Void>) {
        execute(DeleteConversation(conversation: id), by: caller) { completion($0.map { _ in }) }
    }

    package func putMember(
        _ user: UserID, role: Role?, mute: Mute?? = nil, of id: ConversationID, operation: MessageID? = nil,
        by caller: Caller, completion: @escaping Completion<Bool>
    ) {
        execute(
            PutMember(conversation: id, user: user, role: role, mute: mute, operation: operation), by: caller
        ) { completion($0.map(\.isNew)) }
    }

    package func removeMember(
        _ user: UserID, from id: ConversationID, operation: MessageID? = nil, by caller: Caller,
        completion: @escaping Completion<Void>
    ) {
        execute(RemoveMember(conversation: id, user: user, operation: operation), by: caller) {
            completion($0.map { _ in })
        }
    }

    /// Changes the caller's own state in a conversation.
    package func change(
        _ id: ConversationID, _ change: StateChange, by caller: Caller, completion: @escaping Completion<ReadSummary>
    ) {
        switch change {
        case .read(let seq, let epoch, let userRev):
            let operation = MarkRead(conversation: id, seq: seq, epoch: epoch, userRev: userRev)
            execute(operation, by: caller, completion: completion)
        case .markUnread: execute(MarkUnread(conversation: id), by: caller, completion: completion)
        case .settings(let isMuted, let isPinned):
            let operation = SetOwnSettings(conversation: id, isMuted: isMuted, isPinned: isPinned)
            execute(operation, by: caller, completion: completion)
        case .notifications(let level):
            execute(SetNotifications(conversation: id, level: level), by: caller, completion: completion)
        case .removeRecent(let position, let excludes):
            let operation = RemoveRecent(conversation: id, at: position, excludesFromNewDevices: excludes)
            execute(operation, by: caller, completion: completion)
        case .addRecent: execute(AddRecent(conversation: id), by: caller, completion: completion)
        case .excludeFromNewDevices(let position):
            execute(ExcludeFromNewDevices(conversation: id, at: position), by: caller, completion: completion)
        }
    }

    package func read(
        _ id: ConversationID, seq: Seq, epoch: Epoch, by caller: Caller, completion: @escaping Completion<ReadSummary>
    ) {
        execute(MarkRead(conversation: id, seq: seq, epoch: epoch), by: caller, completion: completion)
    }

    // MARK: Messages

    package func edit(
        _ id: MessageID, in conversation: ConversationID, _ edit: MessageEdit, operation: MessageID? = nil,
        by caller: Caller, completion: @escaping Completion<Message>
    ) {
        execute(EditMessage(conversation: conversation, id: id, edit: edit, operation: operation), by: caller) {
            completion($0.map(\.message))
        }
    }

    /// Deletes one message for everyone, and completes with its tombstone.
    package func delete(
        _ id: MessageID, in conversation: ConversationID, by caller: Caller, completion: @escaping Completion<Message>
    ) {
        execute(DeleteMessage(conversation: conversation, id: id), by: caller) { result in
            completion(
                result.flatMap { answer in
                    guard case .tombstone(let message) = answer else {
                        return .failure(ChatError(.internalError, "The answer has no tombstone."))
                    }
                    return .success(message)
                })
        }
    }

    /// Deletes messages for everyone, and completes with their number.
    package func delete(
        _ ids: [MessageID], in conversation: ConversationID, by caller: Caller, completion: @escaping Completion<Int>
    ) {
        execute(DeleteMessages(conversation: conversation, ids: ids), by: caller) {
            completion($0.map { Int($0.count) })
        }
    }

    /// Deletes messages for the caller only, and completes with their number.
    package func hide(
        _ ids: [MessageID], in conversation: ConversationID, by caller: Caller, completion: @escaping Completion<Int>
    ) {
        execute(DeleteMessages(conversation: conversation, ids: ids, audience: .me), by: caller) {
            completion($0.map { Int($0.count) })
        }
    }

    package func delete(
        _ range: DeleteRange, of conversation: ConversationID, operation: MessageID? = nil, by caller: Caller,
        completion: @escaping Completion<Int64>
    ) {
        execute(DeleteHistory(conversation: conversation, range: range, operation: operation), by: caller) {
            completion($0.map(\.count))
        }
    }

    package func clear(
        _ conversation: ConversationID, through seq: Seq, epoch: Epoch, by caller: Caller,
        completion: @escaping Completion<ReadSummary>
    ) {
        let operation = ClearConversation(conversation: conversation, seq: seq, epoch: epoch)
        execute(operation, by: caller, completion: completion)
    }

    package func addAction(
        to id: MessageID, in conversation: ConversationID, type: String, value: String, operation: MessageID? = nil,
        by caller: Caller, completion: @escaping Completion<MessageAction>
    ) {
        let action = ActionContent(type: type, value: value)
        execute(AddAction(conversation: conversation, id: id, action: action, operation: operation), by: caller) {
            completion($0.map(\.action))
        }
    }

    package func removeAction(
        from id: MessageID, _ reference: ActionReference, in conversation: ConversationID, operation: MessageID? = nil,
        by caller: Caller, completion: @escaping Completion<Void>
    ) {
        execute(RemoveAction(conversation: conversation, id: id, action: reference, operation: operation), by: caller) {
            completion($0.map { _ in })
        }
    }
}
