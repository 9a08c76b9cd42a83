package import ScrollbackModel

/// Invites a user to a conversation.
package struct InviteUser: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "invite", http: .put("/v1/conversations/{conversation}/invitations/{user}"),
        scope: .manage, callers: .permission([.invite]), cost: .message, tag: .members,
        summary: "Invite a user to a conversation",
        details: """
            Moderators can invite users to groups, communities and private channels. The user joins by adding \
            themselves as a member, which ends the invitation. Inviting an invited user renews the invitation.
            """,
        errors: [404, 409])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .component("Invitation")
        package static let statuses = [200, 201]

        package var invitation: Invitation
        /// Whether the user had no invitation before.
        package var isNew: Bool
        package var status: Int { isNew ? 201 : 200 }

        package init(_ invitation: Invitation, isNew: Bool) {
            self.invitation = invitation
            self.isNew = isNew
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            self.init(try Invitation(from: &reader), isNew: false)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            invitation.writeMembers(to: &writer)
        }
    }

    package var conversation: ConversationID
    package var user: UserID
    /// How long the invitation is valid, in seconds, or `nil` for one that doesn't expire.
    package var lifetime: Int64?

    package init(conversation: ConversationID, user: UserID, lifetime: Int64? = nil) {
        self.conversation = conversation
        self.user = user
        self.lifetime = lifetime
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        user = try request.required("user")
        lifetime = try request.invitationLifetime()
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("user", user)
        writer.field("expiresIn", lifetime)
    }
}
