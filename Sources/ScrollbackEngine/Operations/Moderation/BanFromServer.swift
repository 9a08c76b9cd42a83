package import ScrollbackModel
package import ScrollbackWire

/// Bans a user from the server.
package struct BanFromServer: ChatOperation {
    package static let endpoint = Endpoint(
        http: .put("/v1/bans/{user}"), scope: .admin, callers: .administrator, cost: .write,
        tag: .users,
        summary: "Ban a user from the server",
        details: """
            The server closes the user's connections and refuses their tokens with 403 `banned` until the ban ends. \
            Banning a banned user replaces the ban.
            """,
        errors: [404, 409])

    package var user: UserID
    /// How long the ban lasts, in seconds, or `nil` for a ban without an end.
    package var lifetime: Double?
    package var reason: String?

    package init(user: UserID, lifetime: Double? = nil, reason: String? = nil) {
        self.user = user
        self.lifetime = lifetime
        self.reason = reason
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        lifetime = try request.banLifetime()
        reason = try request.banReason()
    }
}

extension BanFromServer: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let ban = try Ban(user, lifetime: lifetime, reason: reason, context)
        try context.caller.checkMayAdminister(user, "Banning users from the server")
        var row = try transaction.store.user(user) ?? UserRow(profile: UserProfile(id: user))
        guard row.state == .active || row.state == .deactivated else { throw row.unknown }
        row.isBanned = true
        try transaction.store.put(row)
        try transaction.store.put(BanRow(conversation: BanRow.server, ban: ban))
        transaction.publish(.moderated(ModerationAct(.ban, of: user, by: context.caller.user)))
        try transaction.audit(.ban, by: context.caller, of: user)
        transaction.publish(.accessRevoked(user, ban.refusal(from: "this server", now: transaction.now.date)))
        return EmptyAnswer()
    }
}
