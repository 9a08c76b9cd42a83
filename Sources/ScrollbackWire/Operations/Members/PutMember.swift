package import ScrollbackModel

/// Adds a user to a conversation, changes a member's role, or mutes a member.
package struct PutMember: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "putMember", http: .put("/v1/conversations/{conversation}/members/{user}"),
        scope: .manage, callers: .permission([.addMember, .changeRole, .mute]), cost: .write, tag: .members,
        summary: "Add a member, change their role, or mute them",
        details: """
            Invited users join by adding themselves. A request with `mutedUntil` and without a role adds no member. \
            Moderators can mute every user of a room, and in a public channel every member of its community.
            """,
        errors: [404, 409])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([.init("user", .component("UserID"))])
        package static let statuses = [200, 201]

        /// Whether the request added the user.
        package var isNew: Bool
        /// `nil` in an answer that a client received, which doesn't name the user.
        package var user: UserID?
        package var status: Int { isNew ? 201 : 200 }

        package init(isNew: Bool, user: UserID?) {
            self.isNew = isNew
            self.user = user
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var isNew = false
            try reader.object { (name, value) throws(ChatError) in
                if name == "isNew" { isNew = try value.bool() } else { try value.skip() }
            }
            self.init(isNew: isNew, user: nil)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("isNew", isNew)
        }

        package func writeBody(to writer: inout JSONWriter) {
            writer.field("user", user)
        }
    }

    package var conversation: ConversationID
    package var user: UserID
    /// `nil` adds a user as an ordinary member, and keeps the role of a member.
    package var role: Role?
    /// `nil` keeps the mute, `.some(nil)` ends it.
    package var mute: Mute??
    /// The key that makes a retry harmless.
    package var operation: MessageID?

    package init(
        conversation: ConversationID, user: UserID, role: Role? = nil, mute: Mute?? = nil, operation: MessageID? = nil
    ) {
        self.conversation = conversation
        self.user = user
        self.role = role
        self.mute = mute
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        user = try request.required("user")
        role = try request.optional("role", "Without it a new member is an ordinary member. Members keep their role.")
        mute = try request.nullable(
            "mutedUntil", Mute.schema, example: Mute.example, "When the member may write again. `null` ends the mute."
        ) { (value) throws(ChatError) in try Mute(from: &value) }
        operation = try request.optional("operation", Self.operationDescription)
    }

    static let operationDescription =
        "A UUID of your choice. A retry with the same one returns the first answer and changes nothing."

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("user", user)
        writer.field("role", role?.rawValue)
        switch mute {
        case nil: break
        case .some(nil): writer.field("mutedUntil", RawJSON(known: "null"))
        case .some(.some(let mute)): mute.writeMember(to: &writer)
        }
        writer.field("operation", operation)
    }
}
