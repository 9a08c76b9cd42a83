import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns the open invitations to a conversation ordered by user, or the caller's own if `id` is `nil`.
    ///
    /// A page may contain fewer than `limit` invitations, because expired ones are left out.
    package func invitations(
        to id: ConversationID?, cursor: String?, limit: Int, by caller: Caller
    ) throws -> ListPage<Invitation> {
        try checkLimit(limit)
        guard let id else { return try ownInvitations(cursor: cursor, limit: limit, by: caller) }
        let after = try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") }
        let now = clock()
        return try withAccess(to: id.absolute(for: caller.user), for: caller) { access, store in
            try permissions.checkMayInvite(to: access.conversation.id, as: access.role, by: caller)
            guard access.conversation.supportsInvitations else { throw ChatError.publicChannel(access.conversation.id) }
            let rows = try store.invitations(to: access.conversation.number, after: after, limit: limit)
            return ListPage(
                rows.filter { $0.isActive(at: now) }.map { $0.invitation(to: access.conversation) },
                after: rows.count == limit ? rows.last?.user : nil)
        }
    }

    private func ownInvitations(cursor: String?, limit: Int, by caller: Caller) throws -> ListPage<Invitation> {
        let after = try cursor.map { (text) throws(ChatError) in
            guard let number = Int64(text, radix: 36), number >= 0 else {
                throw ChatError.invalidParameter("cursor", "must be an unchanged cursor from a previous page")
            }
            return number
        }
        let now = clock()
        return try store.read { store in
            let rows = try store.invitations(of: caller.user, after: after ?? 0, limit: limit)
            let invitations = try rows.filter { $0.isActive(at: now) }.compactMap { row in
                try store.conversation(numbered: row.conversation).flatMap { conversation in
                    conversation.isDeleted || !conversation.supportsInvitations
                        ? nil : row.invitation(to: conversation)
                }
            }
            return ListPage(
                invitations, cursor: rows.count == limit ? rows.last.map { String($0.conversation, radix: 36) } : nil)
        }
    }
}
