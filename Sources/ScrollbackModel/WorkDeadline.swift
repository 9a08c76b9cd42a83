/// The time after which a search stops.
///
/// The time is measured from the creation of the value, so work that waits for a thread does not use it up.
package struct WorkDeadline: Sendable {
    private let end: Duration
    private let limit: Duration
    private let elapsed: @Sendable () -> Duration

    /// Creates a deadline.
    ///
    /// - Parameters:
    ///   - limit: The time until the deadline.
    ///   - elapsed: A clock that never goes back: the time since any fixed moment.
    package init(after limit: Duration, elapsed: @escaping @Sendable () -> Duration) {
        self.limit = limit
        self.elapsed = elapsed
        end = elapsed() + limit
    }

    /// Whether the time is over.
    package var isExceeded: Bool { elapsed() >= end }

    /// Checks that the time is not over.
    ///
    /// - Throws: ``error``.
    package func check() throws(ChatError) {
        if isExceeded { throw error }
    }

    /// The error of work that was stopped.
    package var error: ChatError {
        ChatError(
            .overloaded,
            """
            The search took longer than \(limit / .seconds(1)) seconds and was stopped. Search in one conversation, or \
            add words that are less frequent.
            """,
            retryAfter: 5)
    }
}
