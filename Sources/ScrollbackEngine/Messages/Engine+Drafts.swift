import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns the caller's drafts that changed since an earlier list, about 512 KiB at most.
    ///
    /// - Throws: `invalid-parameter` for a cursor that this server did not make.
    package func drafts(since cursor: String?, by caller: Caller) throws -> ListDrafts.Answer {
        let cursor = try cursor.map { try DraftCursor($0) }
        // Read once: the cursor must not name a generation that began while the list was read.
        let generation = store.generation
        // The user revisions of a restored store can be lower than the cursor's.
        let after = cursor.flatMap { $0.generation == generation ? $0.rev : nil }
        return try store.read { store in
            var drafts: [SyncedDraft] = []
            var last = after ?? 0
            var (count, bytes, hasMore) = (0, 0, false)
            // Drafts are large, so each is read only if it fits into the list.
            while let row = try store.drafts(of: caller.user, after: last, limit: 1).first {
                hasMore = count == limits.pageSize || bytes >= ResponseBudget.answerBytes
                if hasMore { break }
                last = row.rev
                count += 1
                bytes += 100 + (row.body?.text.utf8.count ?? 0)
                // A new device has no draft to delete.
                guard cursor != nil || row.body != nil else { continue }
                drafts.append(SyncedDraft(conversation: row.conversation, draft: row.body, rev: row.rev))
            }
            return ListDrafts.Answer(
                drafts: drafts, cursor: DraftCursor(generation: generation, rev: last).text,
                hasMore: hasMore, isReset: after == nil)
        }
    }
}

/// The position of a device in the changes of its user's drafts.
private struct DraftCursor {
    var generation: UInt64
    var rev: Int64

    init(generation: UInt64, rev: Int64) {
        self.generation = generation
        self.rev = rev
    }

    init(_ text: String) throws(ChatError) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let generation = UInt64(parts[0]), let rev = Int64(parts[1]), rev >= 0 else {
            throw .invalidParameter("cursor", "must be the cursor of an earlier list, unchanged")
        }
        self.init(generation: generation, rev: rev)
    }

    var text: String { "\(generation)-\(rev)" }
}
