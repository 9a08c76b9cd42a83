package import ScrollbackModel

/// Read operations for drafts.
package protocol DraftReader {
    /// Returns a user's drafts whose revision is above `rev`, in the order of their revisions.
    ///
    /// Deleted drafts have no body.
    func drafts(of user: UserID, after rev: Int64, limit: Int) throws -> [DraftRow]
    /// Returns in how many conversations a user has a draft.
    func draftCount(of user: UserID) throws -> Int
    func draft(of user: UserID, in conversation: ConversationID) throws -> DraftRow?
}

/// Write operations for drafts.
package protocol DraftWriter {
    /// Stores a draft, and replaces the one in the same conversation.
    func put(_ draft: DraftRow, of user: UserID) throws
    /// Removes the rows of a user's deleted drafts, without the newest ones.
    func dropDeletedDrafts(of user: UserID, keeping count: Int) throws
    /// Deletes the drafts of all users in a conversation.
    func dropDrafts(in conversation: ConversationID) throws
}

/// A user's draft in a conversation, which need not exist.
package struct DraftRow: Hashable, Sendable {
    /// The conversation, named from the user's point of view.
    package var conversation: ConversationID
    /// `nil` for a deleted draft.
    package var body: RawJSON?
    /// The user's change counter when they last changed the draft.
    package var rev: Int64

    package init(conversation: ConversationID, body: RawJSON?, rev: Int64) {
        self.conversation = conversation
        self.body = body
        self.rev = rev
    }
}
