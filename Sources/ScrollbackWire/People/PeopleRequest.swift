package import ScrollbackModel

/// A request about who is in a conversation, who has read, who is invited, and who is there.
package enum PeopleRequest: Sendable {
    /// Who is a member, by name.
    case members(ConversationID, after: UserID?, limit: Int)
    /// Puts somebody in, changes their role, or mutes them (`.some(nil)`: no more).
    case putMember(ConversationID, UserID, role: Role?, mute: Mute??)
    case removeMember(ConversationID, UserID)
    /// Who has read a message, by name.
    case readers(ConversationID, MessageID, after: UserID?, limit: Int)
    /// Lets somebody join, for so many seconds or for good.
    case invite(ConversationID, UserID, expiresIn: Int64?)
    /// Takes an invitation back, or declines it.
    case endInvitation(ConversationID, UserID)
    /// Who is invited to a conversation, or (nil) whereto the user is.
    case invitations(ConversationID?, cursor: String?, limit: Int)
    /// Whether people are there; from here on (true), no more (false), or once.
    case presence([UserID], isOn: Bool?)
}

extension PeopleRequest {
    static let names: Set<String> = [
        "members", "putMember", "removeMember", "readers", "invite", "endInvitation", "invitations", "presence",
    ]

    var name: String {
        switch self {
        case .members: "members"
        case .putMember: "putMember"
        case .removeMember: "removeMember"
        case .readers: "readers"
        case .invite: "invite"
        case .endInvitation: "endInvitation"
        case .invitations: "invitations"
        case .presence: "presence"
        }
    }

    func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .members(let conversation, let after, let limit):
            writer.field("conversation", conversation)
            writer.field("cursor", after)
            writer.field("limit", limit)
        case .putMember(let conversation, let user, let role, let mute):
            writer.field("conversation", conversation)
            writer.field("user", user)
            writer.field("role", role?.rawValue)
            switch mute {
            case nil: break
            case .some(nil): writer.field("mutedUntil", RawJSON(known: "null"))
            case .some(.some(let mute)): mute.writeMember(to: &writer)
            }
        case .removeMember(let conversation, let user), .endInvitation(let conversation, let user):
            writer.field("conversation", conversation)
            writer.field("user", user)
        case .readers(let conversation, let id, let after, let limit):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("cursor", after)
            writer.field("limit", limit)
        case .invite(let conversation, let user, let expiresIn):
            writer.field("conversation", conversation)
            writer.field("user", user)
            writer.field("expiresIn", expiresIn)
        case .invitations(let conversation, let cursor, let limit):
            writer.field("conversation", conversation)
            writer.field("cursor", cursor)
            writer.field("limit", limit)
        case .presence(let users, let isOn):
            writer.key("users")
            writer.array(users) { $0.value($1.text) }
            writer.field("on", isOn)
        }
    }
}

/// The members of these requests that no other request has, as they come.
package struct PeopleFields {
    package var user: UserID?
    package var role: Role?
    package var mute: Mute??
    package var expiresIn: Int64?
    var isOn: Bool?

    package init() {}

    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "user": user = try value.user()
        case "role": role = try value.null() ? nil : value.choice("role")
        case "mutedUntil": mute = .some(try value.null() ? nil : Mute(from: &value))
        case "expiresIn": expiresIn = try value.null() ? nil : Invitation.validated(lifetime: value.integer())
        case "on": isOn = try value.null() ? nil : value.bool()
        default: return false
        }
        return true
    }
}

extension ClientFields {
    /// - Returns: nothing for a request about something else.
    func peopleRequest(_ type: String) throws(ChatError) -> PeopleRequest? {
        func conversation() throws(ChatError) -> ConversationID { try self.conversation.required("conversation") }
        func user() throws(ChatError) -> UserID { try people.user.required("user") }
        func after() throws(ChatError) -> UserID? {
            try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") }
        }
        func limit() throws(ChatError) -> Int { try Self.count(self.limit ?? 20) }
        switch type {
        case "members": return .members(try conversation(), after: try after(), limit: try limit())
        case "putMember": return .putMember(try conversation(), try user(), role: people.role, mute: people.mute)
        case "removeMember": return .removeMember(try conversation(), try user())
        case "readers":
            return .readers(try conversation(), try id.required("id"), after: try after(), limit: try limit())
        case "invite": return .invite(try conversation(), try user(), expiresIn: people.expiresIn)
        case "endInvitation": return .endInvitation(try conversation(), try user())
        case "invitations": return .invitations(self.conversation, cursor: cursor, limit: try limit())
        case "presence": return .presence(try users.required("users"), isOn: people.isOn)
        default: return nil
        }
    }
}
