import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension EngineHarness {
    /// Returns the readers of a message with their read markers.
    func readers(
        of id: MessageID, in conversation: ConversationID, after: UserID? = nil, limit: Int = 100, by caller: Caller
    ) throws -> ListPage<MessageReader> {
        try engine.readers(of: id, in: conversation, after: after, limit: limit, by: caller)
    }

    func readers(of id: MessageID, in conversation: ConversationID, by user: UserID) throws -> [UserID] {
        try readers(of: id, in: conversation, by: Caller(user: user)).elements.map(\.id)
    }

    @discardableResult
    func invite(
        _ user: UserID, to id: ConversationID, expiresIn lifetime: Int64? = nil, by caller: Caller = admin
    ) throws -> (invitation: Invitation, isNew: Bool) {
        try done { engine.invite(user, to: id, expiresIn: lifetime, by: caller, completion: $0) }
    }

    func endInvitation(of user: UserID, to id: ConversationID, by caller: Caller = admin) throws {
        try done { engine.endInvitation(of: user, to: id, by: caller, completion: $0) }
    }

    /// Returns the conversations to which a user is invited.
    func invitations(of user: UserID) throws -> [ConversationID] {
        try engine.invitations(to: nil, cursor: nil, limit: 100, by: Caller(user: user)).elements.map(\.conversation)
    }

    /// Returns the users who are invited to a conversation.
    func invited(to id: ConversationID, by caller: Caller = admin) throws -> [UserID] {
        try engine.invitations(to: id, cursor: nil, limit: 100, by: caller).elements.map(\.user)
    }

    /// Joins as a user who is invited.
    @discardableResult
    func join(asInvited user: UserID, _ id: ConversationID, as role: Role? = nil) throws -> Bool {
        try join(id, user, as: role, by: Caller(user: user))
    }
}
