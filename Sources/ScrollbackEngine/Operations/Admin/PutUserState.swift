package import ScrollbackModel
package import ScrollbackWire

/// Deactivates or reactivates a user.
package struct PutUserState: ChatOperation {
    package static let endpoint = Endpoint(
        http: .put("/v1/users/{user}/state"), scope: .admin, callers: .administrator, cost: .write,
        tag: .users,
        summary: "Deactivate or reactivate a user",
        details: """
            The server closes a deactivated user's connections with code 4010 and refuses their tokens with 403 \
            `user-deactivated`. Their data stays: the server keeps messages to them, and other users see them as \
            before. The server does not send their scheduled messages. You can't deactivate yourself.
            """,
        errors: [404, 409])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("user", .component("UserID")), .init("state", Activity.schema),
        ])

        package var user: UserID
        package var isActive: Bool

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("user", user)
            writer.field("state", (isActive ? Activity.active : .deactivated).rawValue)
        }
    }

    package var user: UserID
    package var isActive: Bool

    package init(user: UserID, isActive: Bool) {
        self.user = user
        self.isActive = isActive
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        let state: Activity = try request.required("state", "The new state.")
        isActive = state == .active
    }
}

extension PutUserState: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        let caller = context.caller
        try caller.checkMayAdminister(user, "Deactivating users")
        try user.checkIsNotReplacement()
        var row = try transaction.store.user(user) ?? UserRow(profile: UserProfile(id: user))
        guard row.state == .active || row.state == .deactivated else { throw row.unknown }
        let isChanged = (row.state == .active) != isActive
        row.state = isActive ? .active : .deactivated
        try transaction.store.put(row)
        if isChanged {
            let action: ModerationAct.Action = isActive ? .activate : .deactivate
            transaction.publish(.moderated(ModerationAct(action, of: user, by: caller.user)))
            try transaction.audit(isActive ? .activate : .deactivate, by: caller, of: user)
        }
        if !isActive { transaction.publish(.accessRevoked(user, row.refusal)) }
        return Answer(user: user, isActive: isActive)
    }
}

/// The states that administrators can give a user.
private enum Activity: String, ChoiceParameterValue {
    case active, deactivated
}
