package import ScrollbackModel
package import ScrollbackWire

/// Creates an incoming webhook, or changes its conversation and its user.
package struct PutIncomingWebhook: ChatOperation {
    package static let endpoint = Endpoint(
        http: .put("/v1/admin/hooks/{hook}"), scope: .admin, callers: .administrator, cost: .write, tag: .server,
        summary: "Create or change an incoming webhook",
        details: """
            Other programs post messages through its URL in the JSON of Slack's incoming webhooks. The messages are \
            sent by `user`, with the rights that the user then has. Only the answer to the request that creates the \
            webhook has the URL. The server stores only a hash of its secret.
            """,
        errors: [404])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("hook", .component("Name")),
            .init(
                "url", .string(), isRequired: false,
                "The path of the webhook's URL, with its secret. Absent if the webhook existed."),
        ])
        package static let statuses = [200, 201]

        package var hook: Identifier
        /// The path of a new webhook's URL.
        package var url: String?

        package var status: Int { url == nil ? 200 : 201 }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("hook", hook.text)
            writer.field("url", url)
        }
    }

    package var hook: Identifier
    package var conversation: ConversationID
    package var user: UserID

    package init(hook: Identifier, conversation: ConversationID, user: UserID) {
        self.hook = hook
        self.conversation = conversation
        self.user = user
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        hook = try request.required("hook", "The webhook's ID: 1 to 32 characters a-z, 0-9 and -.")
        conversation = try request.required(
            "conversation", "The conversation that gets the messages, named from the point of view of `user`.")
        user = try request.required("user", "The sender of the messages, who must be allowed to send them.")
    }
}

extension PutIncomingWebhook: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        try IncomingWebhookToken.check(hook)
        let id = conversation.logID.absolute(for: user)
        let conversation = try transaction.checkMayPost(to: id, as: user, permissions: context.permissions)
        let known = try transaction.store.incomingWebhook(hook)
        let token = IncomingWebhookToken(newSecretOf: hook)
        try transaction.store.put(
            IncomingWebhookRow(
                id: hook, conversation: id.relative(to: user), user: user,
                secretHash: known?.secretHash ?? token.secretHash, createdAt: known?.createdAt ?? transaction.now.date))
        try transaction.audit(.putHook, by: context.caller, of: user, in: conversation, detail: hook.text)
        return Answer(hook: hook, url: known == nil ? token.path : nil)
    }
}

extension Transaction {
    /// Checks that a user may send to a conversation now, on behalf of an administrator.
    ///
    /// - Returns: The conversation, or `nil` if the first message creates it.
    /// - Throws: `unknown-user` for an erased user; `unknown-conversation`; `invalid-parameter` with the parameter
    ///   `user` if the user may not send.
    fileprivate func checkMayPost(
        to id: ConversationID, as user: UserID, permissions: Permissions
    ) throws -> ConversationRow? {
        try user.checkIsNotReplacement()
        if let row = try store.user(user), row.state == .erasing || row.state == .erased { throw row.unknown }
        let row = try conversation(id).flatMap { $0.isDeleted ? nil : $0 }
        guard row != nil || id.kind.traits.isImplicit else { throw Access.unknown }
        do {
            return try checkMaySend(to: id, by: Caller(user: user), permissions: permissions, now: now.date)
        } catch let error as ChatError where !error.isTemporary {
            let isMissing = [.notMember, .unknownConversation].contains(error.code)
            throw ChatError.invalidParameter(
                "user",
                "must be a user who may send messages in \(id), but \(user) may not (\(error.code)). "
                    + (isMissing
                        ? "Add the user as a member first" : "Lift the restriction first, or choose another user"))
        }
    }
}
