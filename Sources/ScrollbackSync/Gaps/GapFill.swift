package import Foundation
package import ScrollbackModel

/// A scheduler for requests that fill the gaps of a conversation.
///
/// It allows one request at a time, waits after failures, and stops when requests make no progress.
package struct GapFill: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        case ask(GapRequest)
        case wait(until: Date)
        /// Nothing to request, or no progress expected until something changes.
        case idle
    }

    /// The request without an answer.
    package private(set) var inFlight: GapRequest?
    private var pausedUntil: Date?
    private var attemptsWithoutProgress = 0
    private var backoff = Backoff()

    /// The number of consecutive answers without progress after which requests stop.
    package static let maximumAttemptsWithoutProgress = 2

    package init() {}

    /// Whether requests have stopped until something changes.
    package var isStuck: Bool { attemptsWithoutProgress >= Self.maximumAttemptsWithoutProgress }

    /// Returns the next step for the most important gap.
    package mutating func next(_ wanted: GapRequest?, now: Date) -> Step {
        guard let wanted, inFlight == nil, !isStuck else { return .idle }
        if let pausedUntil, now < pausedUntil { return .wait(until: pausedUntil) }
        pausedUntil = nil
        inFlight = wanted
        return .ask(wanted)
    }

    /// Handles an applied page.
    package mutating func answered(_ request: GapRequest, changedGaps: Bool) {
        guard request == inFlight else { return }
        inFlight = nil
        backoff.reset()
        attemptsWithoutProgress = changedGaps ? 0 : attemptsWithoutProgress + 1
    }

    /// Handles a failed request.
    ///
    /// After a permanent error, requests stop until something changes.
    package mutating func failed(
        _ request: GapRequest, _ error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) {
        guard request == inFlight else { return }
        inFlight = nil
        let wait = backoff.next(using: &generator)
        if error.isTemporary {
            pausedUntil = now + (error.retryAfter ?? wait)
        } else {
            attemptsWithoutProgress = Self.maximumAttemptsWithoutProgress
        }
    }

    /// Allows requests again, because the log changed or the app asked for it.
    package mutating func allowRequests() {
        attemptsWithoutProgress = 0
    }

    /// Resets the state, because the answers of this connection are lost.
    package mutating func disconnected() {
        inFlight = nil
        pausedUntil = nil
        attemptsWithoutProgress = 0
    }
}
