import ScrollbackModel
import ScrollbackWire

extension Transaction {
    /// The maximum number of conversations in which a user has a draft.
    static let maximumDrafts = 100
    /// The number of deleted drafts of a user that devices can still learn about.
    static let keptDeletedDrafts = 1_000

    /// Stores or deletes the caller's draft in a conversation, and sends it to the caller's devices.
    ///
    /// The conversation need not exist: the draft of a new conversation can arrive before the request that creates it.
    ///
    /// - Returns: The user revision of the change.
    func putDraft(_ body: RawJSON?, in conversation: ConversationID, by caller: Caller) throws -> Int64 {
        let known = try store.draft(of: caller.user, in: conversation)
        if let known, known.body == body { return known.rev }
        if body != nil { try space.check() }
        if body != nil, known?.body == nil, try store.draftCount(of: caller.user) >= Self.maximumDrafts {
            throw ChatError(
                .conflict, "You have \(Self.maximumDrafts) drafts. Delete one first.", limit: Self.maximumDrafts)
        }
        guard body != nil || known != nil else { return 0 }
        let rev = try advanceRev(of: caller.user, by: caller.user)
        try store.put(DraftRow(conversation: conversation, body: body, rev: rev), of: caller.user)
        if body == nil { try store.dropDeletedDrafts(of: caller.user, keeping: Self.keptDeletedDrafts) }
        publish(.draft(SyncedDraft(conversation: conversation, draft: body, rev: rev), caller.user))
        return rev
    }
}
