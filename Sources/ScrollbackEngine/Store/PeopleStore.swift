package import Foundation
package import ScrollbackModel

/// Read operations for read receipts, invitations and last-seen times.
package protocol PeopleReader {
    /// Returns the positions that a user's devices reported; both are 0 if there are none.
    func receipt(of user: UserID, in conversation: Int64) throws -> ReceiptRow
    /// Returns the number of current members of a conversation, counted up to a limit.
    func memberCount(of conversation: Int64, limit: Int) throws -> Int
    /// Returns all membership rows of a conversation, whatever their standing, ordered by user ID.
    func positions(in conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow]

    /// Returns an invitation, which may have expired.
    func invitation(of user: UserID, to conversation: Int64) throws -> InvitationRow?
    /// Returns the invitations to a conversation, ordered by user ID.
    func invitations(to conversation: Int64, after: UserID?, limit: Int) throws -> [InvitationRow]
    /// Returns a user's invitations, ordered by conversation number.
    func invitations(of user: UserID, after conversation: Int64, limit: Int) throws -> [InvitationRow]

    /// Returns when a user was last online.
    func lastSeen(of user: UserID) throws -> Date?
}

/// Write operations for read receipts, invitations and last-seen times.
package protocol PeopleWriter {
    func put(_ receipt: ReceiptRow, of user: UserID, in conversation: Int64) throws
    func put(_ invitation: InvitationRow) throws
    func dropInvitation(of user: UserID, to conversation: Int64) throws
    /// Deletes at most `limit` invitations that ended at or before a time, in any conversation.
    ///
    /// - Returns: The number of deleted invitations.
    func dropInvitations(endedBy time: Date, limit: Int) throws -> Int
    func put(lastSeen time: Date, of user: UserID) throws
}

/// The positions in a conversation that a user's devices reported, and that other members may see.
package struct ReceiptRow: Hashable, Sendable {
    /// The newest sequence number that the user has read; only for direct conversations.
    package var readSeq: Seq
    /// The sequence number through which the user's devices have stored the messages.
    package var deliveredSeq: Seq

    package init(readSeq: Seq = 0, deliveredSeq: Seq = 0) {
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
    }

    /// Returns the sequence number through which messages were delivered, because the user's devices reported it or the
    /// user has read them.
    ///
    /// - Parameter readSeq: How far the user has read; `nil` in a direct conversation, whose receipt has it.
    func arrivedSeq(readSeq: Seq? = nil) -> Seq { max(deliveredSeq, readSeq ?? self.readSeq) }
}

/// A stored invitation.
package struct InvitationRow: Hashable, Sendable {
    package var conversation: Int64
    package var user: UserID
    package var by: UserID
    package var at: Date
    /// When the invitation expires; `nil` if it does not.
    package var until: Date?

    package init(conversation: Int64, user: UserID, by: UserID, at: Date, until: Date? = nil) {
        self.conversation = conversation
        self.user = user
        self.by = by
        self.at = at
        self.until = until
    }

    package func isActive(at now: Date) -> Bool { until.map { now < $0 } ?? true }
}
