package import Foundation

/// Decides when a device reports which messages it has stored.
///
/// One request reports many conversations, at most one request is in flight, and two requests are at least
/// ``interval`` apart. What is due is in the store, so a lost connection or a restart loses nothing.
package struct DeliveryReports: Sendable {
    /// The minimum time between two requests, in seconds.
    package static let interval: TimeInterval = 1

    private var isConnected = false
    private var isNeeded = false
    private var isInFlight = false
    /// Whether reports wait for the retry after a temporary error.
    private var isPaused = false
    private var notBefore: Date?
    private var wakesAt: Date?

    package init() {}

    package enum Action: Hashable, Sendable {
        /// Report what is due, and call ``answered(now:)``, ``failed()`` or ``foundNothing()``.
        case report
        /// Call ``tick(now:)`` at this time.
        case wake(Date)
    }

    /// Handles a new connection, after which everything that is due is reported.
    package mutating func connected(now: Date) -> Action? {
        self = DeliveryReports()
        isConnected = true
        isNeeded = true
        return next(now)
    }

    package mutating func disconnected() {
        self = DeliveryReports()
    }

    /// Handles a report that became due.
    package mutating func needed(now: Date) -> Action? {
        isNeeded = isConnected
        return next(now)
    }

    package mutating func tick(now: Date) -> Action? {
        next(now)
    }

    /// Handles an answer of the server, after which more may be due.
    package mutating func answered(now: Date) -> Action? {
        isInFlight = false
        return needed(now: now)
    }

    /// Handles a temporary error; nothing is reported until ``retry(now:)`` is called.
    package mutating func failed() {
        isInFlight = false
        isPaused = true
    }

    /// Continues when the server may accept reports again.
    package mutating func retry(now: Date) -> Action? {
        isPaused = false
        return needed(now: now)
    }

    /// Handles that nothing was due, so that no request was sent.
    package mutating func foundNothing() {
        isInFlight = false
        notBefore = nil
    }

    private mutating func next(_ now: Date) -> Action? {
        guard isNeeded, !isInFlight, !isPaused else { return nil }
        // A time that is further away comes from before the clock was set back.
        if let notBefore, now < notBefore, notBefore <= now.addingTimeInterval(Self.interval) {
            guard wakesAt != notBefore else { return nil }
            wakesAt = notBefore
            return .wake(notBefore)
        }
        isNeeded = false
        isInFlight = true
        notBefore = now.addingTimeInterval(Self.interval)
        wakesAt = nil
        return .report
    }
}
