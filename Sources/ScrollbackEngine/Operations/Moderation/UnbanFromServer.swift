package import ScrollbackModel
package import ScrollbackWire

/// Lifts a user's ban from the server.
package struct UnbanFromServer: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/bans/{user}"), scope: .admin, callers: .administrator, cost: .write,
        tag: .users,
        summary: "Lift a user's ban from the server",
        details: "Lifting the ban of a user who is not banned succeeds.")

    package var user: UserID

    package init(user: UserID) {
        self.user = user
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
    }
}

extension UnbanFromServer: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        try transaction.store.dropBan(of: user, in: BanRow.server)
        guard var row = try transaction.store.user(user), row.isBanned else { return EmptyAnswer() }
        row.isBanned = false
        try transaction.store.put(row)
        transaction.publish(.moderated(ModerationAct(.unban, of: user, by: context.caller.user)))
        try transaction.audit(.unban, by: context.caller, of: user)
        return EmptyAnswer()
    }
}
