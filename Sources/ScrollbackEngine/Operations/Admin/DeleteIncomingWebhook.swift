package import ScrollbackModel
package import ScrollbackWire

/// Deletes an incoming webhook.
package struct DeleteIncomingWebhook: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/admin/hooks/{hook}"), scope: .admin, callers: .administrator, cost: .write, tag: .server,
        summary: "Delete an incoming webhook",
        details: "Its messages stay. If there is no such webhook, the request has no effect.")

    package var hook: Identifier

    package init(hook: Identifier) {
        self.hook = hook
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        hook = try request.required("hook", "The webhook's ID.")
    }
}

extension DeleteIncomingWebhook: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        guard let row = try transaction.store.incomingWebhook(hook) else { return EmptyAnswer() }
        try transaction.store.dropIncomingWebhook(hook)
        try transaction.audit(
            .deleteHook, by: context.caller, of: row.user,
            in: transaction.conversation(row.conversation.absolute(for: row.user)), detail: hook.text)
        return EmptyAnswer()
    }
}
