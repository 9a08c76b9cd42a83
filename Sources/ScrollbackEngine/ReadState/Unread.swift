package import ScrollbackModel

/// The unread counts of one user in one conversation.
///
/// The counts are computed from counted indexes without scanning messages, so sending writes nothing for the
/// recipients.
package struct Unread: Hashable, Sendable {
    package var messages: Int64
    package var mentions: Int64

    /// Computes the counts, which are zero for users who are not members and for kinds of conversations without counts.
    package init(of user: UserID, _ access: Access, in store: any StoreReader) throws {
        messages = 0
        mentions = 0
        let row = access.conversation
        guard row.id.kind.traits.hasRecents, access.role != nil else { return }
        if let numbers = access.unreadBase.countedIndexes(through: access.state.countedIndex) {
            messages = try Int64(numbers.count) - store.uncounted(by: user, in: row.number, numbers: numbers)
        }
        mentions = Int64(
            try store.mentions(of: user, in: row.number, above: access.unreadBase.position)
                .count { access.visible.contains($0) })
    }
}

extension StoreReader {
    /// Returns how many of these counted indexes a user does not count as unread.
    ///
    /// These are messages deleted for everyone, the user's own messages, and messages the user deleted for themselves.
    /// A message in several of these sets counts once.
    func uncounted(by user: UserID, in conversation: Int64, numbers: ClosedRange<Int64>) throws -> Int64 {
        try uncountedBlocks(of: user, in: conversation, numbers: numbers).values
            .reduce(0) { $0 + $1.count(in: numbers) }
    }

    /// Returns the lowest of these counted indexes that a user counts as unread.
    func firstCounted(by user: UserID, in conversation: Int64, numbers: ClosedRange<Int64>) throws -> Int64? {
        let blocks = try uncountedBlocks(of: user, in: conversation, numbers: numbers)
        var number = numbers.lowerBound
        while number <= numbers.upperBound {
            let index = BitBlock.index(of: number)
            guard let block = blocks[index] else { return number }
            if let found = block.firstMissing(atOrAbove: number) { return found <= numbers.upperBound ? found : nil }
            number = (index + 1) * BitBlock.width
        }
        return nil
    }

    /// Returns the blocks of the counted indexes that a user does not count as unread, by their index.
    func uncountedBlocks(
        of user: UserID, in conversation: Int64, numbers: ClosedRange<Int64>
    ) throws -> [Int64: BitBlock] {
        let wanted = BitBlock.index(of: numbers.lowerBound)...BitBlock.index(of: numbers.upperBound)
        var blocks: [Int64: BitBlock] = [:]
        for set in [BitSet.removed, .uncounted(user)] {
            for block in try bits(set, of: conversation, blocks: wanted) {
                blocks[block.index] = blocks[block.index]?.union(block) ?? block
            }
        }
        return blocks
    }
}

extension Access {
    package func summary(for user: UserID, in store: any StoreReader) throws -> ReadSummary {
        let unread = try Unread(of: user, self, in: store)
        return ReadSummary(
            epoch: state.epoch, readSeq: unreadBase.position, unread: unread.messages, mentions: unread.mentions,
            isMarkedUnread: member?.isMarkedUnread ?? false, isMuted: member?.mutesPushes ?? false,
            notifications: member?.level, isPinned: member?.isPinned ?? false, removedSeq: member?.removedSeq ?? 0,
            seq: state.head, countedIndex: state.countedIndex,
            rev: state.rev, userRev: userRev)
    }
}
