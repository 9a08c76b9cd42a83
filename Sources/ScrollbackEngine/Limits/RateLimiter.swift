package import Foundation
package import ScrollbackModel
package import ScrollbackWire
import Synchronization

/// The rate limits of requests: a token bucket for each user and cost class.
///
/// Administrators are exempt.
package final class RateLimiter: Sendable {
    /// A number of requests in a second, and how many may come at once.
    package struct Rate: Hashable, Sendable {
        package var perSecond: Double
        package var burst: Double

        package init(perSecond: Double, burst: Double) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// The limits of a server without settings.
    ///
    /// A client that resumes 1,000 conversations, or an app that sends one change for each tap, stays far below them.
    package static let standard: [CostClass: Rate] = [
        .message: Rate(perSecond: 20, burst: 40), .write: Rate(perSecond: 50, burst: 1_000),
        .read: Rate(perSecond: 200, burst: 5_000), .lookup: Rate(perSecond: 50, burst: 5_000),
        .search: Rate(perSecond: 5, burst: 50),
    ]

    private struct Key: Hashable {
        var owner: WorkOwner
        var cost: CostClass
    }

    private struct State {
        var buckets = Buckets<Key, TokenBucket>(pruningThreshold: 100_000)
        var refusals: [CostClass: Int] = [:]
    }

    private let rates: [CostClass: Rate]
    private let state = Mutex(State())

    /// Creates the limits.
    ///
    /// - Parameter rates: The rate of each class; a class without a rate has no limit.
    package init(_ rates: [CostClass: Rate] = RateLimiter.standard) {
        self.rates = rates
    }

    /// The number of refused requests since the start, for each class with a limit.
    package var refusals: [(cost: CostClass, count: Int)] {
        let counts = state.withLock { $0.refusals }
        return CostClass.limited.map { ($0, counts[$0] ?? 0) }
    }

    /// Takes tokens of one request.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens the request costs, of which it takes at most the burst; see
    ///     ``ChatOperation/tokens``.
    ///   - taken: How many of them it took before.
    /// - Returns: A `rate-limited` error with the time to wait, if the owner has too few tokens.
    package func take(
        _ owner: WorkOwner, _ cost: CostClass, tokens: Int = 1, taken: Int = 0, now: Date
    ) -> ChatError? {
        guard owner.isLimited, let rate = rates[cost] else { return nil }
        let rest = min(Double(tokens), rate.burst) - Double(taken)
        guard rest > 0 else { return nil }
        return state.withLock { state in
            let key = Key(owner: owner, cost: cost)
            let new = TokenBucket(perSecond: rate.perSecond, burst: rate.burst)
            let wait: TimeInterval? = state.buckets.change(key, default: new, now: now) { bucket in
                bucket.take(rest, now: now) ? nil : bucket.wait(for: rest)
            }
            guard let wait else { return nil }
            state.refusals[cost, default: 0] += 1
            return Self.refusal(cost, rate, tokens, wait)
        }
    }

    /// Takes the tokens of one request of a caller.
    package func take(_ caller: Caller, _ cost: CostClass, tokens: Int = 1, now: Date) -> ChatError? {
        take(WorkOwner(caller), cost, tokens: tokens, now: now)
    }

    private static func refusal(_ cost: CostClass, _ rate: Rate, _ tokens: Int, _ wait: TimeInterval) -> ChatError {
        let (what, option) =
            switch cost {
            case .message: ("send at most %@ messages, edits and actions", "--send-rate")
            case .write: ("make at most %@ changes", "--write-rate")
            case .read, .free: ("make at most %@ read requests", "--read-rate")
            case .lookup: ("look up at most %@ users", "--lookup-rate")
            case .search: ("make at most %@ searches and exports", "--search-rate")
            }
        let limit = Int(rate.perSecond.rounded(.up))
        let rule = "You can \(what.replacingOccurrences(of: "%@", with: "\(limit)")) per second"
        let seconds = wait <= 1 ? "1 second" : "\(Int(wait.rounded(.up))) seconds"
        return ChatError(
            .rateLimited,
            tokens == 1
                ? "\(rule)."
                : "\(rule) (option \(option)), and this request counts as \(tokens) of them. Try again in \(seconds).",
            limit: limit, retryAfter: wait)
    }
}
