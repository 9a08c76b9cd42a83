package import Foundation

/// Selects the conversations whose events are delivered to the webhook next.
///
/// Each conversation has its own backoff, so that an event that the webhook can't process delays only one conversation.
/// If many conversations fail and none succeeds, the webhook is considered unavailable and all deliveries pause.
package struct DeliverySchedule {
    /// The backoff after failures.
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
    private let maximumBackoff: TimeInterval
    private var hook: WebhookSettings.After?
    private var inProgress: Set<Int64> = []
    private var retries: [Int64: Retry] = [:]
    private var outage = Retry()
    /// The conversations with failed requests since the last success.
    private var failed: Set<Int64> = []
    /// The conversation that was started last; the next one in number order follows, so that all get a turn.
    private var last: Int64 = 0
    /// When the next work may be due without a new event.
    package private(set) var next: Date?

    package init(limit: Int, maximumBackoff: TimeInterval) {
        self.limit = limit
        self.maximumBackoff = maximumBackoff
    }

    /// Applies changed webhook settings, and resets the backoff if they differ.
    package mutating func apply(_ hook: WebhookSettings.After) {
        guard hook != self.hook else { return }
        self.hook = hook
        retries = [:]
        failed = []
        outage = Retry()
    }

    /// Records that a request completed.
    package mutating func finished(_ conversation: Int64, isAcknowledged: Bool, now: Date) {
        inProgress.remove(conversation)
        guard !isAcknowledged else {
            retries[conversation] = nil
            failed = []
            outage = Retry()
            return
        }
        retries[conversation, default: Retry()].failed(now: now, longest: maximumBackoff)
        failed.insert(conversation)
        if failed.count >= limit, outage.notBefore <= now { outage.failed(now: now, longest: maximumBackoff) }
    }

    /// Selects the conversations to start now.
    package mutating func nextWork(from store: any StoreReader, now: Date) throws -> [Int64] {
        guard outage.notBefore <= now else {
            next = outage.notBefore
            return []
        }
        var ready: [Int64] = []
        let free = limit - inProgress.count
        let turns = [last..<Int64.max, 0..<last]
        for turn in turns where ready.count < free {
            var place = turn.lowerBound
            while ready.count < free {
                let page = try store.conversationsWithDeliveries(after: place, limit: 100)
                guard let end = page.last else { break }
                ready += page.filter { $0 <= turn.upperBound && !inProgress.contains($0) && isDue($0, now) }
                place = end
                if end > turn.upperBound { break }
            }
        }
        ready = Array(ready.prefix(free))
        if ready.count < free {
            // All pending conversations were examined, so other conversations that are due have no deliveries.
            retries = retries.filter {
                inProgress.contains($0.key) || ready.contains($0.key) || $0.value.notBefore > now
            }
        }
        inProgress.formUnion(ready)
        last = ready.last ?? last
        // When the limit is reached, the end of a request triggers the next selection.
        let isBusy = inProgress.count >= limit
        next = isBusy ? nil : retries.filter { !inProgress.contains($0.key) }.values.map(\.notBefore).min()
        return ready
    }

    private func isDue(_ conversation: Int64, _ now: Date) -> Bool {
        retries[conversation].map { $0.notBefore <= now } ?? true
    }
}
