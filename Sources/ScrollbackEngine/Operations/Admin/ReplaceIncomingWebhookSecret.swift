package import ScrollbackModel
package import ScrollbackWire

/// Gives an incoming webhook a new secret, and so a new URL.
package struct ReplaceIncomingWebhookSecret: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/admin/hooks/{hook}/secret"), scope: .admin, callers: .administrator, cost: .write,
        tag: .server, summary: "Replace the secret of an incoming webhook",
        details: """
            The earlier URL stops working. If the answer is lost, send the request again. If the webhook does not \
            exist, the request fails with 422 `invalid-parameter`.
            """)

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("hook", .component("Name")),
            .init("url", .string(), "The path of the webhook's new URL, with its secret."),
        ])

        package var hook: Identifier
        package var url: String

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("hook", hook.text)
            writer.field("url", url)
        }
    }

    package var hook: Identifier

    package init(hook: Identifier) {
        self.hook = hook
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        hook = try request.required("hook", "The webhook's ID.")
    }
}

extension ReplaceIncomingWebhookSecret: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        guard var row = try transaction.store.incomingWebhook(hook) else {
            throw ChatError.invalidParameter("hook", "must be the ID of an incoming webhook. Create it first")
        }
        let token = IncomingWebhookToken(newSecretOf: hook)
        row.secretHash = token.secretHash
        try transaction.store.put(row)
        try transaction.audit(
            .replaceHookSecret, by: context.caller, of: row.user,
            in: transaction.conversation(row.conversation.absolute(for: row.user)), detail: hook.text)
        return Answer(hook: hook, url: token.path)
    }
}
