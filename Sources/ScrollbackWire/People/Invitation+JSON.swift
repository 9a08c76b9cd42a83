package import ScrollbackModel

extension Invitation: ListElement {
    package static let listName = "invitations"
    package static let schema = JSONSchema.component("Invitation")

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

/// The parsed members of an invitation.
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
