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
}
