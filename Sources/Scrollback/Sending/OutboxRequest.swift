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

// The store keeps a request as the text of a WebSocket frame.
extension OutboxRequest {
    /// The text to store.
    var stored: String { String(decoding: frame(ref: 0), as: UTF8.self) }

    /// Reads a stored request.
    ///
    /// - Throws: `localStorage` for a text that is no request of the outbox.
    init(stored text: String, limits: Limits) throws(ChatError) {
        let frame = try RequestFrame(own: Array(text.utf8))
        var reader = RequestReader(frame: frame.members, limits: limits)
        switch frame.type {
        case SendMessage.endpoint.frame: self = .send(try SendMessage(from: &reader))
        case EditMessage.endpoint.frame: self = .edit(try EditMessage(from: &reader))
        case DeleteMessages.endpoint.frame: self = .delete(try DeleteMessages(from: &reader))
        case AddAction.endpoint.frame: self = .addAction(try AddAction(from: &reader))
        case RemoveAction.endpoint.frame: self = .removeAction(try RemoveAction(from: &reader))
        case ClearConversation.endpoint.frame: self = .clear(try ClearConversation(from: &reader))
        default: throw ChatError(.localStorage, "The outbox has a request of the unknown type \(frame.type).")
        }
    }
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
