import ScrollbackModel
package import ScrollbackWire

/// A request that the outbox stores until the server answers it.
package enum OutboxRequest: Sendable {
    case send(SendMessage)
    case edit(EditMessage)
    case delete(DeleteMessages)
    case addAction(AddAction)
    case removeAction(RemoveAction)
    case clear(ClearConversation)
    case schedule(ScheduleMessage)
    case changeThread(ChangeThread)
    case putConversation(PutConversation)
    case deleteConversation(DeleteConversation)
    case putUser(PutUser)
    case putMember(PutMember)
    case removeMember(RemoveMember)
    /// The user leaves the conversation.
    case leave(RemoveMember)

    /// The subject of a request that does not change messages.
    enum Subject: String {
        case settings, deletion, profile, members, leaving, schedule
    }

    /// The subject of the request; `nil` if it sends or changes messages.
    var subject: Subject? {
        switch self {
        case .send, .edit, .delete, .addAction, .removeAction, .clear, .changeThread: nil
        case .putConversation: .settings
        case .deleteConversation: .deletion
        case .putUser: .profile
        case .putMember, .removeMember: .members
        case .leave: .leaving
        case .schedule: .schedule
        }
    }

    /// Whether the request fails instead of waiting for a long time.
    ///
    /// This is the case if later messages of the conversation make sense without the request. A waiting request would
    /// delay them.
    var failsWhenDelayed: Bool {
        switch self {
        case .putMember, .removeMember, .leave: true
        // Messages to a new conversation need it.
        case .putConversation(let request): request.exists != false
        default: false
        }
    }

    private var operation: any ClientOperation {
        switch self {
        case .send(let operation): operation
        case .edit(let operation): operation
        case .delete(let operation): operation
        case .addAction(let operation): operation
        case .removeAction(let operation): operation
        case .clear(let operation): operation
        case .schedule(let operation): operation
        case .changeThread(let operation): operation
        case .putConversation(let operation): operation
        case .deleteConversation(let operation): operation
        case .putUser(let operation): operation
        case .putMember(let operation): operation
        case .removeMember(let operation): operation
        case .leave(let operation): operation
        }
    }
}

extension OutboxRequest: FrameRequest {
    package func frame(ref: Int64) -> [UInt8] { operation.frame(ref: ref) }
}

extension RequestFrame {
    /// Reads a frame that this SDK wrote.
    init(own bytes: [UInt8]) throws(ChatError) {
        do throws(RequestError) {
            try self.init(bytes)
        } catch {
            throw error.error
        }
    }
}
