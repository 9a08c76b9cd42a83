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
}
