import ScrollbackModel

/// Computes a reader's own state in the threads of one conversation.
///
/// A reply is unread if it counts for the reader in the conversation, and lies above the reader's position in the
/// thread. See ``UnreadBase/inThread(_:)``.
struct ThreadCounts {
    /// How many of the newest unread mentions are examined; a change of a thread examines them in the writer.
    static let maximumMentions = 500

    private let access: Access
    private let store: any StoreReader
    private let isCounted: Bool
    private let uncounted: [Int64: BitBlock]
    private let mentions: [MessageID: [Seq]]

    /// Reads what all threads of the conversation need.
    ///
    /// It costs about as much as the conversation's own counts.
    init(for access: Access, in store: any StoreReader) throws {
        self.access = access
        self.store = store
        let row = access.conversation
        isCounted = row.id.kind.traits.hasRecents && access.role != nil
        guard isCounted else {
            (uncounted, mentions) = ([:], [:])
            return
        }
        let numbers = access.unreadBase.countedIndexes(through: access.state.countedIndex)
        uncounted =
            try numbers.map { try store.uncountedBlocks(of: access.reader, in: row.number, numbers: $0) } ?? [:]
        mentions = try store.mentionedReplies(
            of: access.reader, in: row.number, above: access.unreadBase.position, limit: Self.maximumMentions
        ).mapValues { $0.filter { access.visible.contains($0) } }
    }

    /// Returns the reader's state in a thread.
    func state(of thread: MessageID) throws -> ThreadState {
        let number = access.conversation.number
        let row = try store.threadState(of: access.reader, in: thread, of: number)
        let base = access.unreadBase.inThread(row)
        var unread: Int64 = 0
        if isCounted, let numbers = base.countedIndexes(through: access.state.countedIndex) {
            let blocks = BitBlock.index(of: numbers.lowerBound)...BitBlock.index(of: numbers.upperBound)
            for block in try store.bits(.replies(thread), of: number, blocks: blocks) {
                unread += (uncounted[block.index].map { block.subtracting($0) } ?? block).count(in: numbers)
            }
        }
        return ThreadState(
            thread: thread, isFollowed: row?.following == .followed, readSeq: base.position, unread: unread,
            mentions: Int64(mentions[thread]?.count { $0 > base.position } ?? 0), userRev: row?.userRev ?? 0)
    }
}
