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

    private var operation: any ClientOperation {
        switch self {
        case .send(let operation): operation
        case .edit(let operation): operation
        case .delete(let operation): operation
        case .addAction(let operation): operation
        case .removeAction(let operation): operation
        case .clear(let operation): operation
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
