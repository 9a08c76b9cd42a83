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
        let answer = try perform(InviteUser(conversation: id, user: user, lifetime: lifetime), by: caller)
        return (answer.invitation, answer.isNew)
    }

    func endInvitation(of user: UserID, to id: ConversationID, by caller: Caller = admin) throws {
        try perform(EndInvitation(conversation: id, user: user), by: caller)
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

// MARK: Deliveries

extension EngineHarness {
    func mark(_ id: ConversationID, through seq: Seq, by user: UserID) throws -> DeliveryMark {
        let epoch = try head(id, user).state.epoch
        return DeliveryMark(conversation: id, position: EpochPosition(seq: seq, epoch: epoch))
    }

    func report(_ marks: [DeliveryMark], by user: UserID) throws -> [DeliveryResult] {
        try perform(ReportDelivered(marks), by: Caller(user: user)).results
    }

    /// Reports through which message a user's device has stored a conversation.
    ///
    /// - Returns: The code of the error with which the server refused the mark, if it did.
    @discardableResult
    func delivered(_ id: ConversationID, through seq: Seq, by user: UserID) throws -> ChatError.Code? {
        try report([try mark(id, through: seq, by: user)], by: user).first?.error?.code
    }

    /// Returns the recipients of a message.
    func recipients(of id: MessageID, in conversation: ConversationID, by user: UserID) throws -> [UserID] {
        try engine.recipients(of: id, in: conversation, after: nil, limit: 100, by: Caller(user: user))
            .elements.map(\.id)
    }
}
