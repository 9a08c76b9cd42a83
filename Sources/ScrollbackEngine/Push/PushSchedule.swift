import Foundation
import ScrollbackModel

/// Selects the conversations whose pushes are sent next, so that all get a turn and none has two concurrent walks.
struct PushSchedule {
    /// The pseudo conversation number that represents retries.
    static let retries: Int64 = 0

    struct Work {
        var conversations: [Int64] = []
        var retries = false
        /// When the next work may be due without a new push.
        var next: Date?
    }

    private let limit: Int
    private var inProgress: Set<Int64> = []
    /// Conversations that wait after a failure.
    private var notBefore: [Int64: Date] = [:]
    /// When the last walk of a conversation ended.
    private var endedAt: [Int64: Date] = [:]
    /// The conversation that was started last; the next one in number order follows.
    private var last: Int64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func finished(_ step: PushStep, now: Date) {
        inProgress.remove(step.conversation)
        if step.failed {
            notBefore[step.conversation] = now + 1
        } else if step.isOver {
            endedAt[step.conversation] = now
        }
    }

    /// Selects the work to start now.
    ///
    /// - Parameter interval: The minimum time between the end of a walk and the next walk of the same conversation, in
    ///   seconds.
    mutating func nextWork(from store: any StoreReader, every interval: Double, now: Date) throws -> Work {
        notBefore = notBefore.filter { $0.value > now }
        endedAt = endedAt.filter { $0.value + interval > now }
        func wait(_ conversation: Int64) -> Date? {
            [notBefore[conversation], endedAt[conversation].map { $0 + interval }].compactMap(\.self).max()
        }
        var work = Work()
        let free = limit - inProgress.subtracting([Self.retries]).count
        for turn in [last..<Int64.max, 0..<last] where work.conversations.count < free {
            var place = turn.lowerBound
            while work.conversations.count < free {
                let page = try store.conversationsWithPushes(after: place, limit: 100)
                guard let end = page.last else { break }
                for conversation in page where conversation <= turn.upperBound && !inProgress.contains(conversation) {
                    if let date = wait(conversation) {
                        work.next = min(work.next ?? date, date)
                    } else if work.conversations.count < free {
                        work.conversations.append(conversation)
                    }
                }
                place = end
                if end > turn.upperBound { break }
            }
        }
        last = work.conversations.last ?? last
        inProgress.formUnion(work.conversations)
        if !inProgress.contains(Self.retries), let date = try store.nextPushRetry() {
            let date = max(date, notBefore[Self.retries] ?? date)
            if date <= now {
                work.retries = true
                inProgress.insert(Self.retries)
            } else {
                work.next = min(work.next ?? date, date)
            }
        }
        return work
    }
}
