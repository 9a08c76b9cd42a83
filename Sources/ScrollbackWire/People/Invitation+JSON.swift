package import ScrollbackModel

extension Invitation {
    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("user", user)
        writer.field("by", by)
        writer.field("at", at)
        writer.field("expiresAt", expiresAt)
        writer.field("name", name)
        writer.field("avatar", avatar)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var fields = InvitationFields()
        try reader.object { (name, value) throws(ChatError) in
            if try !fields.read(name, &value) { try value.skip() }
        }
        self = try fields.invitation()
    }
}

/// The members of an invitation as they come.
struct InvitationFields {
    var conversation: ConversationID?
    var user: UserID?
    var by: UserID?
    var at: String?
    var expiresAt: String?
    var name: String?
    var avatar: String?

    mutating func read(_ field: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch field {
        case "conversation": conversation = try value.conversation()
        case "user": user = try value.user()
        case "by": by = try value.user("by")
        case "at": at = try value.string()
        case "expiresAt": expiresAt = try value.null() ? nil : value.string()
        case "name": name = try value.null() ? nil : value.string()
        case "avatar": avatar = try value.null() ? nil : value.string()
        default: return false
        }
        return true
    }

    func invitation() throws(ChatError) -> Invitation {
        Invitation(
            conversation: try conversation.required("conversation"), user: try user.required("user"),
            by: try by.required("by"), at: try .init(iso8601: at.required("at"), parameter: "at"),
            expiresAt: try expiresAt.map { (text) throws(ChatError) in
                try .init(iso8601: text, parameter: "expiresAt")
            }, name: name, avatar: avatar)
    }
}

/// A page of invitations: to a conversation, by the names of who is invited, or of one person.
package struct InvitationList: Sendable {
    package var invitations: [Invitation]
    /// Where the next page begins; absent where there is none.
    package var cursor: String?

    package init(invitations: [Invitation], cursor: String?) {
        self.invitations = invitations
        self.cursor = cursor
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("invitations")
        writer.array(invitations) { $1.write(to: &$0) }
        writer.field("cursor", cursor)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var invitations: [Invitation]?
        var cursor: String?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "invitations":
                invitations = try value.list("invitations", limit: 1000) { (invitation) throws(ChatError) in
                    try Invitation(from: &invitation)
                }
            case "cursor": cursor = try value.null() ? nil : value.string()
            default: try value.skip()
            }
        }
        self.init(invitations: try invitations.required("invitations"), cursor: cursor)
    }
}
