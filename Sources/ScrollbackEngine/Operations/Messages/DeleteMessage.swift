package import ScrollbackModel
package import ScrollbackWire

/// Deletes one message.
package struct DeleteMessage: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/conversations/{conversation}/messages/{id}"), scope: .write,
        callers: .permission([.recall, .deleteOthers]), cost: .write, tag: .messages,
        summary: "Delete a message",
        details: """
            Users can delete their own messages for everyone, moderators the messages of others too. The answer is \
            the tombstone that stays in the place of the message. With `for=me` the message is hidden from the \
            caller only, and the answer has no body.
            """,
        errors: [404])

    /// What remains of the message.
    package enum Answer: OperationAnswer {
        case tombstone(Message)
        case hidden

        package static let schema = Message.schema
        package static let statuses = [200, 204]

        package var status: Int {
            switch self {
            case .tombstone: 200
            case .hidden: 204
            }
        }

        package func writeMembers(to writer: inout JSONWriter) {
            if case .tombstone(let message) = self { message.writeMembers(to: &writer) }
        }
    }

    package var conversation: ConversationID
    package var id: MessageID
    package var audience: DeletionAudience

    package init(conversation: ConversationID, id: MessageID, audience: DeletionAudience = .everyone) {
        self.conversation = conversation
        self.id = id
        self.audience = audience
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.required("id")
        audience = try request.deletionAudience()
    }
}

extension DeleteMessage: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        let request = ChangeRequest(toLog: conversation, by: context.caller)
        switch audience {
        case .everyone:
            let last = try transaction.delete(
                [id], request, permissions: context.permissions,
                lowersUnread: context.engine.settings.recallLowersUnread
            ).last
            guard let last else {
                throw ChatError(.unknownMessage, "Message \(id) does not exist, or you may not see it.")
            }
            return .tombstone(try transaction.answer(last, to: request))
        case .me:
            guard try transaction.hide([id], request, permissions: context.permissions) > 0 else {
                throw ChatError.unknownMessage(id)
            }
            return .hidden
        }
    }

    package func footprints(for caller: Caller) -> [Footprint] {
        ChangeRequest(toLog: conversation, by: caller).footprints(audience == .everyone ? [id] : [])
    }
}

extension ChatError {
    fileprivate static func unknownMessage(_ id: MessageID) -> ChatError {
        ChatError(.unknownMessage, "There is no message \(id) in this conversation that you can see.")
    }
}
