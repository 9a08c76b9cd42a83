package import ScrollbackModel
package import ScrollbackWire

/// Removes a scheduled message of a user.
package struct CancelUserScheduled: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/users/{user}/scheduled/{id}"), scope: .admin,
        callers: .administrator, cost: .write, tag: .users,
        summary: "Cancel a user's scheduled message",
        details: "If the message was already sent or cancelled, the request fails with 404 `unknown-message`.",
        errors: [404])

    package var user: UserID
    package var id: MessageID

    package init(user: UserID, id: MessageID) {
        self.user = user
        self.id = id
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        id = try request.required("id")
    }
}

extension CancelUserScheduled: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        guard try transaction.cancelScheduled(id, of: user) else {
            throw ChatError(
                .unknownMessage, "\(user) has no scheduled message \(id). It may have been sent or cancelled.",
                parameter: "id")
        }
        try transaction.audit(.cancelScheduled, by: context.caller, of: user, detail: id.description)
        return EmptyAnswer()
    }
}
