package import Foundation

/// Of which conversations the operator's program is told next.
///
/// Each has waits of its own, so that what the program chokes on holds up one conversation. Where the posts of many fail and
/// none is taken it is the program that is away, and it is let be for a while.
package struct DeliverySchedule {
    /// When something is tried again that failed.
    private struct Retry {
        var notBefore = Date.distantPast
        private var failures = 0

        mutating func failed(now: Date, longest: TimeInterval) {
            let wait = min(longest, pow(2, Double(min(failures, 10))))
            failures += 1
            notBefore = now + wait * Double.random(in: 0.5...1)
        }
    }

    private let limit: Int
    private let longestWait: TimeInterval
    private var hook: WebhookSettings.After?
    private var underWay: Set<Int64> = []
    private var retries: [Int64: Retry] = [:]
    private var outage = Retry()
    /// The conversations whose posts failed since one was taken.
    private var failed: Set<Int64> = []
    /// The conversation that was begun with last: the next is the one after it, so that everyone has their turn.
    private var last: Int64 = 0
    /// When there may be something to do that nobody wakes for.
    package private(set) var next: Date?

    package init(limit: Int, longestWait: TimeInterval) {
        self.limit = limit
        self.longestWait = longestWait
    }

    /// What another program failed to take this one may take at once.
    package mutating func follow(_ hook: WebhookSettings.After) {
        guard hook != self.hook else { return }
        self.hook = hook
        retries = [:]
        failed = []
        outage = Retry()
    }

    /// A post is over.
    package mutating func finished(_ conversation: Int64, isTaken: Bool, now: Date) {
        underWay.remove(conversation)
        guard !isTaken else {
            retries[conversation] = nil
            failed = []
            outage = Retry()
            return
        }
        retries[conversation, default: Retry()].failed(now: now, longest: longestWait)
        failed.insert(conversation)
        if failed.count >= limit, outage.notBefore <= now { outage.failed(now: now, longest: longestWait) }
    }

    /// The conversations to begin with now.
    package mutating func begin(from store: any StoreReader, now: Date) throws -> [Int64] {
        guard outage.notBefore <= now else {
            next = outage.notBefore
            return []
        }
        var ready: [Int64] = []
        let free = limit - underWay.count
        let turns = [last..<Int64.max, 0..<last]
        for turn in turns where ready.count < free {
            var place = turn.lowerBound
            while ready.count < free {
                let page = try store.conversationsWithDeliveries(after: place, limit: 100)
                guard let end = page.last else { break }
                ready += page.filter { $0 <= turn.upperBound && !underWay.contains($0) && isDue($0, now) }
                place = end
                if end > turn.upperBound { break }
            }
        }
        ready = Array(ready.prefix(free))
        if ready.count < free {
            // All that wait were looked at: nothing waits of a conversation that is due and was not found.
            retries = retries.filter { underWay.contains($0.key) || ready.contains($0.key) || $0.value.notBefore > now }
        }
        underWay.formUnion(ready)
        last = ready.last ?? last
        // Where nothing is free a post that is over wakes.
        let isBusy = underWay.count >= limit
        next = isBusy ? nil : retries.filter { !underWay.contains($0.key) }.values.map(\.notBefore).min()
        return ready
    }

    private func isDue(_ conversation: Int64, _ now: Date) -> Bool {
        retries[conversation].map { $0.notBefore <= now } ?? true
    }
}
