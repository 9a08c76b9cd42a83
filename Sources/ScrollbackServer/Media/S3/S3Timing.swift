import Foundation

/// The retry policy of requests to a store, and its clocks.
struct S3Timing: Sendable {
    /// The maximum number of attempts of one request.
    var attempts = 5
    /// The time after which no further attempt begins.
    var total = Duration.seconds(30)
    /// The time limit of one attempt, except for copies of large objects.
    var attempt = Duration.seconds(30)
    /// The rate at which a slow store copies an object.
    var copiedBytesPerSecond: Int64 = 8 << 20
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// The time that signatures contain.
    var date: @Sendable () -> Date = { Date() }
    var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    /// A random factor of the delays, so that many requests that failed together are not repeated together.
    var jitter: @Sendable () -> Double = { Double.random(in: 0.5...1) }

    /// Returns the time limit of one attempt of a request.
    ///
    /// A store may need longer than ``attempt`` to copy a large object. The largest one has 5 GiB.
    func limit(of request: S3Request) -> Duration {
        max(attempt, .seconds(request.copiedBytes / copiedBytesPerSecond))
    }

    /// The delay after a failed attempt: 0.2 seconds at most after the first one, and twice as much after each further
    /// one.
    func delay(afterAttempt number: Int) -> Duration { .milliseconds(100 << number) * jitter() }
}
