import Foundation
import ScrollbackModel
package import ScrollbackWire

extension InviteUser: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        let lifetime = try Invitation.validated(lifetime: lifetime)
        let (caller, now) = (context.caller, transaction.now.date)
        let id = conversation.absolute(for: caller.user)
        let row = try transaction.conversationWithInvitations(id, by: caller, permissions: context.permissions)
        guard try transaction.member(user, of: row.number)?.standing != .member else {
            throw ChatError(.conflict, "\(user) is already a member of \(id).", parameter: "user")
        }
        try transaction.checkIsNotErased(user)
        try transaction.checkIsNotBanned(user, from: row, now: now, shownTo: caller.user)
        if row.isPrivate, let community = try transaction.conversation(.community(id.target)) {
            try transaction.checkIsMember(user, of: community)
        }
        try transaction.checkMayApproach(user, by: caller)
        let isNew = try transaction.openInvitation(of: user, to: row) == nil
        let growth = Growth(members: isNew ? 1 : 0)
        try transaction.checkGrowth(growth, by: caller)
        try transaction.recordGrowth(growth, by: caller)
        // The wire format has milliseconds.
        let at = Date(timeIntervalSince1970: (now.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
        let invitation = InvitationRow(
            conversation: row.number, user: user, by: caller.user, at: at,
            until: lifetime.map { at + TimeInterval($0) })
        try transaction.store.put(invitation)
        transaction.publish(.invited(invitation.invitation(to: row)))
        return Answer(invitation.invitation(to: row), isNew: isNew)
    }
}
