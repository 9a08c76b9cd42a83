import ScrollbackModel
package import ScrollbackWire

extension PutDraft: WriteOperation {
    /// The maximum number of conversations in which a user has a draft.
    private static let maximumDrafts = 100
    /// The number of deleted drafts of a user that devices can still learn about.
    private static let keptDeletedDrafts = 1_000

    /// Stores or deletes the caller's draft in a conversation, and sends it to the caller's devices.
    ///
    /// The conversation need not exist: the draft of a new conversation can arrive before the request that creates it.
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        let (user, store) = (context.caller.user, transaction.store)
        // Each user names a conversation in one way only, so that a draft has one row.
        let name = conversation.logID.absolute(for: user).relative(to: user)
        let known = try store.draft(of: user, in: name)
        if let known, known.body == draft { return Answer(rev: known.rev) }
        if draft != nil { try transaction.space.check() }
        if draft != nil, known?.body == nil, try store.draftCount(of: user) >= Self.maximumDrafts {
            throw ChatError(
                .conflict, "You have \(Self.maximumDrafts) drafts. Delete one first.", limit: Self.maximumDrafts)
        }
        guard draft != nil || known != nil else { return Answer(rev: 0) }
        let rev = try transaction.advanceRev(of: user, by: user)
        try store.put(DraftRow(conversation: name, body: draft, rev: rev), of: user)
        if draft == nil { try store.dropDeletedDrafts(of: user, keeping: Self.keptDeletedDrafts) }
        transaction.publish(.draft(SyncedDraft(conversation: name, draft: draft, rev: rev), user))
        return Answer(rev: rev)
    }
}
