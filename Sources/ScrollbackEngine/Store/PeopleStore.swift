package import Foundation
package import ScrollbackModel

/// What the engine asks a snapshot about who has read, who is invited, and who was there.
package protocol PeopleReader {
    /// The newest place of a direct conversation that somebody has read and the other person may know of; 0 for none.
    func receipt(of user: UserID, in conversation: Int64) throws -> Seq
    /// Everybody who has a row in a conversation, whatever their standing, by name.
    func positions(in conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow]

    /// Invitations, ended ones too.
    func invitation(of user: UserID, to conversation: Int64) throws -> InvitationRow?
    /// Who is invited to a conversation, by name.
    func invitations(to conversation: Int64, after: UserID?, limit: Int) throws -> [InvitationRow]
    /// Whereto somebody is invited, by the conversation's number.
    func invitations(of user: UserID, after conversation: Int64, limit: Int) throws -> [InvitationRow]

    /// When somebody was there last.
    func lastSeen(of user: UserID) throws -> Date?
}

/// Changes to who has read, who is invited, and who was there.
package protocol PeopleWriter {
    func putReceipt(_ seq: Seq, of user: UserID, in conversation: Int64) throws
    func put(_ invitation: InvitationRow) throws
    func dropInvitation(of user: UserID, to conversation: Int64) throws
    /// Forgets at most `limit` invitations that ended at or before a time, of any conversation.
    ///
    /// - Returns: how many it were.
    func dropInvitations(endedBy time: Date, limit: Int) throws -> Int
    func put(lastSeen time: Date, of user: UserID) throws
}

/// An invitation as it is stored.
package struct InvitationRow: Hashable, Sendable {
    package var conversation: Int64
    package var user: UserID
    package var by: UserID
    package var at: Date
    /// When it ends; absent where it does not.
    package var until: Date?

    package init(conversation: Int64, user: UserID, by: UserID, at: Date, until: Date? = nil) {
        self.conversation = conversation
        self.user = user
        self.by = by
        self.at = at
        self.until = until
    }

    package func holds(at now: Date) -> Bool { until.map { now < $0 } ?? true }
}
