import Foundation
import ScrollbackModel

extension MembershipReader {
    /// Checks that a user may send to a conversation now.
    ///
    /// - Returns: The conversation, or `nil` if the first message will create it.
    /// - Throws: `unknown-conversation`, `forbidden`, `not-member`, `banned`, `muted` or `blocked`.
    func checkMaySend(
        to id: ConversationID, by sender: Caller, permissions: Permissions, now: Date
    ) throws -> ConversationRow? {
        if let row = try conversation(id), !row.isDeleted {
            let role = try senderRole(sender.user, in: row)
            guard permissions[.send, id.kind].isMet(by: role, isAdmin: sender.isAdmin) else {
                try checkIsNotBanned(sender.user, from: row, now: now)
                // Former members can see the conversation and get a specific error. To others it must look as if it did
                // not exist.
                if role != nil { throw permissions.refusal(of: .send, in: id, to: "send messages") }
                throw try isOrWasMember(sender.user, in: row)
                    ? ChatError(.notMember, "You are no longer a member of \(id).") : Access.unknown
            }
            try checkMayWrite(sender, in: row, role: role, now: now)
            return row
        }
        let isNamed = id.namedUsers.contains(sender.user)
        guard id.kind.traits.isImplicit, isNamed || sender.isAdmin,
            permissions[.create, id.kind].isMet(by: nil, isAdmin: sender.isAdmin),
            permissions[.send, id.kind].isMet(by: isNamed ? .member : nil, isAdmin: sender.isAdmin)
        else { throw Access.unknown }
        try checkMayStart(id, by: sender)
        return nil
    }

    /// Returns a sender's role; a missing participant of a direct conversation becomes a member by sending.
    func senderRole(_ user: UserID, in row: ConversationRow) throws -> Role? {
        try isMissingParticipant(user, in: row) ? .member : role(of: user, in: row)
    }

    /// Returns whether a user of a direct conversation is not a member of it yet.
    ///
    /// This is the case for a user who has not received a message there, and for one who uses the name of an erased
    /// user again.
    func isMissingParticipant(_ user: UserID, in row: ConversationRow) throws -> Bool {
        guard row.flags.contains(.missingParticipant), row.id.namedUsers.contains(user) else { return false }
        return try member(user, of: row.number)?.standing != .member
    }
}
