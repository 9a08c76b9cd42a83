/// The writes that wait for the writer thread.
///
/// Owners are served in turn. The queue has a bound, and each user has a smaller one. A barrier runs after all writes
/// that any user queued before it.
package struct WriterQueue<Element> {
    /// A bound that refuses a write.
    package enum Bound: String, CaseIterable {
        /// The owner has too many waiting writes.
        case owner
        /// The queue is full.
        case total
    }

    private struct Entry {
        var number: Int
        var element: Element
    }

    private struct Barrier {
        var number: Int
        /// The number of waiting writes that were queued before the barrier.
        var remaining: Int
        var element: Element
    }

    private enum Taken {
        case write(Entry, of: WorkOwner)
        case barrier(Barrier)
    }

    /// The largest number of waiting writes, and of those of one user.
    package let (maximumCount, maximumOwnCount): (Int, Int)
    private var queue = FairQueue<WorkOwner, Entry>()
    private var barriers: [Barrier] = []
    private var nextNumber = 0
    private var lastBatch: [Taken] = []

    package init(maximumCount: Int, maximumOwnCount: Int) {
        self.maximumCount = maximumCount
        self.maximumOwnCount = maximumOwnCount
    }

    /// The number of waiting writes and barriers.
    package var count: Int { queue.count + barriers.count }

    /// Queues a write unless a bound is reached.
    ///
    /// - Returns: The bound that refused the write; `nil` if the write was queued.
    package mutating func append(_ element: Element, of owner: WorkOwner) -> Bound? {
        guard queue.count < maximumCount else { return .total }
        guard !owner.isLimited || queue.count(of: owner) < maximumOwnCount else { return .owner }
        queue.append(Entry(number: takeNumber(), element: element), of: owner)
        return nil
    }

    /// Queues an element that runs after all writes that are waiting now.
    package mutating func appendBarrier(_ element: Element) {
        barriers.append(Barrier(number: takeNumber(), remaining: queue.count, element: element))
    }

    /// Takes the next elements, at most `limit`.
    package mutating func takeBatch(limit: Int) -> [Element] {
        var batch: [Element] = []
        batch.reserveCapacity(min(limit, count))
        lastBatch.removeAll(keepingCapacity: true)
        while batch.count < limit {
            if let barrier = barriers.first, barrier.remaining == 0 {
                batch.append(barrier.element)
                lastBatch.append(.barrier(barriers.removeFirst()))
            } else if let (owner, entry) = queue.popFirst() {
                batch.append(entry.element)
                lastBatch.append(.write(entry, of: owner))
                countForBarriers(entry, by: -1)
            } else {
                break
            }
        }
        return batch
    }

    /// Puts the last elements of the last batch back, before all others of their owners.
    ///
    /// Owners with an element that ran have their next turn after the other owners. Call this method once after each
    /// batch, even with 0, so that the queue releases the batch.
    package mutating func putBack(_ count: Int) {
        var served: Set<WorkOwner> = []
        if count > 0 { for case .write(_, let owner) in lastBatch.dropLast(count) { served.insert(owner) } }
        for taken in lastBatch.suffix(count).reversed() {
            switch taken {
            case .barrier(let barrier): barriers.insert(barrier, at: 0)
            case .write(let entry, let owner):
                queue.prepend(entry, of: owner, hasNextTurn: !served.contains(owner))
                countForBarriers(entry, by: 1)
            }
        }
        lastBatch.removeAll(keepingCapacity: true)
    }

    private mutating func countForBarriers(_ entry: Entry, by change: Int) {
        for index in barriers.indices where entry.number < barriers[index].number {
            barriers[index].remaining += change
        }
    }

    private mutating func takeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }
}
