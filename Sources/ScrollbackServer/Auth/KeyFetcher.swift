import Foundation
import ScrollbackModel
import Synchronization

/// Fetches an issuer's keys regularly, and when a token has an unknown key.
///
/// Concurrent callers share one fetch.
final class KeyFetcher: Sendable {
    /// The interval between fetches, in seconds.
    private static let interval: TimeInterval = 600
    /// The minimum interval between fetches because of unknown keys, and after a failure, in seconds.
    private static let minimumInterval: TimeInterval = 10

    /// Fetches the keys and stores them.
    typealias Fetch = @Sendable () async throws(ChatError) -> Void

    private let clock: @Sendable () -> Date
    private let state = Mutex(State())

    private struct State {
        var task: Task<Void, Never>?
        var startedAt: Date?
        var fault: ChatError?
        var successes = 0
        var failures = 0
    }

    init(clock: @escaping @Sendable () -> Date) {
        self.clock = clock
    }

    /// The reason why the last fetch failed, or `nil` if it succeeded.
    var fault: ChatError? { state.withLock { $0.fault } }

    /// The numbers of fetches since the start.
    var counts: (successes: Int, failures: Int) { state.withLock { ($0.successes, $0.failures) } }

    /// Starts a fetch if the last one is old or failed.
    ///
    /// - Returns: The fetch in progress, or `nil` if no fetch is due.
    @discardableResult
    func startIfDue(_ fetch: @escaping Fetch) -> Task<Void, Never>? {
        start(after: fault == nil ? Self.interval : Self.minimumInterval, fetch)
    }

    /// Fetches the keys because a token has an unknown key, unless the last fetch was a moment ago.
    ///
    /// - Throws: `overloaded` if the last fetch failed, because the token may be valid.
    func fetchForUnknownKey(_ fetch: @escaping Fetch) async throws(ChatError) {
        await start(after: Self.minimumInterval, fetch)?.value
        guard fault == nil else {
            throw ChatError(
                .overloaded, "The server can't get the keys of the token's issuer. Try again later.",
                retryAfter: Self.minimumInterval)
        }
    }

    /// Starts a fetch unless one is in progress or started less than `seconds` ago.
    private func start(after seconds: TimeInterval, _ fetch: @escaping Fetch) -> Task<Void, Never>? {
        state.withLock { state in
            if let task = state.task { return task }
            let now = clock()
            // A clock that went back must not prevent fetches.
            if let last = state.startedAt, (0..<seconds).contains(now.timeIntervalSince(last)) { return nil }
            let task = Task { await run(fetch) }
            (state.task, state.startedAt) = (task, now)
            return task
        }
    }

    private func run(_ fetch: Fetch) async {
        var fault: ChatError?
        do throws(ChatError) {
            try await fetch()
        } catch {
            fault = error
        }
        state.withLock { state in
            (state.task, state.fault) = (nil, fault)
            if fault == nil { state.successes += 1 } else { state.failures += 1 }
        }
    }
}
