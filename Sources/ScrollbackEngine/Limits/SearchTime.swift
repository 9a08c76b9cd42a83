import ScrollbackModel

/// How long a search may run, and the clock that measures it.
package struct SearchTime: Sendable {
    /// The time after which a search stops, not counting the time it waits for a thread or for the index.
    package let limit: Duration
    private let elapsed: @Sendable () -> Duration

    /// Creates the limit.
    ///
    /// - Parameter elapsed: A clock that never goes back: the time since any fixed moment.
    package init(limit: Duration = .seconds(2), elapsed: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.limit = limit
        self.elapsed = elapsed ?? { ContinuousClock.now - start }
    }

    func deadline() -> WorkDeadline { WorkDeadline(after: limit, elapsed: elapsed) }
}
