/// Decides which work runs next on a fixed number of threads.
///
/// Owners get threads in turn. One owner never occupies more than its share of the threads, so that another owner's
/// work finds a free thread.
package struct FairSchedule<Owner: Hashable, Element> {
    private let threads: Int
    private let share: Int
    private var queue = FairQueue<Owner, Element>()
    private var running: [Owner: Int] = [:]
    private var runningCount = 0

    /// Creates a schedule.
    ///
    /// - Parameters:
    ///   - threads: How many elements run at once.
    ///   - share: How many elements of one owner run at once.
    package init(threads: Int, share: Int) {
        precondition(threads > 0 && share > 0, "a schedule needs threads")
        self.threads = threads
        self.share = share
    }

    /// The number of elements that wait for a thread.
    package var waitingCount: Int { queue.count }

    /// Returns how many elements of one owner wait for a thread.
    package func waitingCount(of owner: Owner) -> Int { queue.count(of: owner) }

    /// Queues an element; call ``next()`` afterwards.
    package mutating func append(_ element: Element, of owner: Owner) {
        queue.append(element, of: owner)
    }

    /// Returns an element to run now, or `nil` if none may run.
    package mutating func next() -> (owner: Owner, element: Element)? {
        guard runningCount < threads, let next = queue.popFirst(where: { running[$0, default: 0] < share }) else {
            return nil
        }
        running[next.owner, default: 0] += 1
        runningCount += 1
        return next
    }

    /// Frees the thread of an element that ended; call ``next()`` afterwards.
    package mutating func finished(_ owner: Owner) {
        guard let count = running[owner] else { preconditionFailure("the owner has no running element") }
        running[owner] = count > 1 ? count - 1 : nil
        runningCount -= 1
    }
}
