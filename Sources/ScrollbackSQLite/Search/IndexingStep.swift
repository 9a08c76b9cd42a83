import ScrollbackEngine
import ScrollbackModel
import ScrollbackSearch

/// The changes of one step, read from one snapshot of the store.
struct IndexingStep {
    /// The progress after the step; `nil` if all entries of the conversation must be removed.
    var progress: SearchProgress?
    /// The messages that changed since they were indexed, in their current state; removed ones have no text.
    var changes: [SearchRow] = []
    /// The messages that were not indexed yet, and their range.
    var additions: (places: SeqRange, rows: [SearchRow])?
    /// A deleted range and the revision of its deletion.
    var removal: (places: SeqRange, rev: Int64)?
    var firstSeq: Seq = 1
    var hasMore = false
    /// What the step used up of its limits, in messages or changes, and in approximate bytes.
    var (count, bytes) = (0, 0)

    /// The maximum number of changes of one step, which is the number that stores can read ahead.
    private static let maximumChanges = 500

    /// Returns the part of a conversation's log that its steps will read; `nil` if there is none.
    static func log(of row: ConversationRow, _ known: SearchProgress?, generation: UInt64) -> ExpectedReads.Log? {
        guard !row.isDeleted, let progress = progress(in: row, known, generation: generation) else { return nil }
        let next = nextSeq(in: row, progress)
        let log = ExpectedReads.Log(
            of: row, next <= row.head ? next...row.head : nil,
            changedAfter: progress.rev < row.rev ? progress.rev : nil)
        return log.places == nil && log.changedAfter == nil ? nil : log
    }

    /// Returns the progress from which steps continue; `nil` if the conversation must be indexed again.
    private static func progress(
        in row: ConversationRow, _ known: SearchProgress?, generation: UInt64
    ) -> SearchProgress? {
        // The messages are read in their state at the newest revision.
        let epoch = row.epoch(in: generation)
        guard let known else { return SearchProgress(epoch: epoch, seq: 0, rev: row.rev) }
        return known.epoch == epoch && known.rev >= row.changeFloor ? known : nil
    }

    private static func nextSeq(in row: ConversationRow, _ progress: SearchProgress) -> Seq {
        max(progress.seq, row.firstSeq - 1) + 1
    }

    /// Reads the next changes of a conversation; `nil` for a row that does not exist.
    init(
        _ row: ConversationRow?, _ known: SearchProgress?, generation: UInt64, batch: Int, bytes: Int,
        _ store: any StoreReader
    ) throws {
        guard let row, !row.isDeleted else { return }
        let number = row.number
        hasMore = true
        guard var progress = Self.progress(in: row, known, generation: generation) else { return }
        firstSeq = row.firstSeq
        var deleted = SeqRangeSet()
        if row.hasDeletedRanges {
            for deletedRange in try store.deletedRanges(of: nil, in: number) { deleted.insert(deletedRange.places) }
        }

        defer { self.progress = progress }
        if progress.rev < row.rev {
            let isDone = try readChanges(&progress, row, deleted, batch: batch, bytes: bytes, store)
            guard isDone, self.bytes < bytes, count < batch else { return }
            progress.rev = row.rev
        }
        let next = Self.nextSeq(in: row, progress)
        guard next <= row.head else {
            progress.seq = max(progress.seq, row.head)
            hasMore = false
            return
        }
        var budget = ResponseBudget(messages: batch - count, bytes: bytes - self.bytes)
        let messages = try store.messages(
            in: number, next...row.head, newestFirst: false, budget: &budget, filter: .all, reader: UserID(known: ""))
        hasMore = budget.isFull
        progress.seq = budget.isFull ? messages.last?.seq ?? row.head : row.head
        count += messages.count
        self.bytes += messages.reduce(0) { $0 + $1.weight }
        // Messages in a deleted range exist until they are swept.
        additions = (next...progress.seq, messages.filter { !deleted.contains($0.seq) }.map(\.searchRow))
    }

    /// Reads the next changes.
    ///
    /// - Returns: Whether no further changes remain.
    private mutating func readChanges(
        _ progress: inout SearchProgress, _ row: ConversationRow, _ deleted: SeqRangeSet, batch: Int, bytes: Int,
        _ store: any StoreReader
    ) throws -> Bool {
        let limit = min(batch, Self.maximumChanges)
        let log = try store.changes(in: row.number, after: progress.rev, limit: limit)
        var seen: Set<Seq> = []
        for change in log {
            count += 1
            if change.kind == .removal {
                removal = (change.places, change.rev)
                return false
            }
            let seq = change.places.lowerBound
            // Messages above are not indexed yet and will be read in their final state.
            if seq <= progress.seq, seen.insert(seq).inserted {
                let message = try store.message(at: seq, in: row.number)
                if let message, seq >= row.firstSeq, !deleted.contains(seq) {
                    changes.append(message.searchRow)
                    self.bytes += message.weight
                } else {
                    changes.append(SearchRow(seq: seq, time: Timetoken(rawValue: 0), text: nil))
                }
            }
            progress.rev = change.rev
            if self.bytes >= bytes { return false }
        }
        return log.count < limit
    }
}

extension MessageRow {
    /// The row for the index; recalled messages have no text.
    fileprivate var searchRow: SearchRow { SearchRow(seq: seq, time: timetoken, text: searchableText) }
}
