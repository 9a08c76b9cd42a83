package import Foundation
package import ScrollbackModel

/// When to ask for a conversation's gaps: one request at a time, a wait after a failure, and an end where asking helps
/// nobody.
package struct GapFill: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        case ask(GapRequest)
        case wait(until: Date)
        /// Nothing to ask, or nothing to hope for, until something changes.
        case rest
    }

    /// The request that has no answer yet.
    package private(set) var inFlight: GapRequest?
    private var pausedUntil: Date?
    private var fruitless = 0
    private var backoff = Backoff()

    /// How many answers in a row may change nothing.
    package static let patience = 2

    package init() {}

    /// Whether asking was given up until something else changes.
    package var isStuck: Bool { fruitless >= Self.patience }

    /// What to do about the gap that is wanted most.
    package mutating func next(_ wanted: GapRequest?, now: Date) -> Step {
        guard let wanted, inFlight == nil, !isStuck else { return .rest }
        if let pausedUntil, now < pausedUntil { return .wait(until: pausedUntil) }
        pausedUntil = nil
        inFlight = wanted
        return .ask(wanted)
    }

    /// A page came and was applied.
    package mutating func answered(_ request: GapRequest, changedGaps: Bool) {
        guard request == inFlight else { return }
        inFlight = nil
        backoff.reset()
        fruitless = changedGaps ? 0 : fruitless + 1
    }

    /// No page came.
    ///
    /// What trying again can't mend stops until something changes.
    package mutating func failed(
        _ request: GapRequest, _ error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) {
        guard request == inFlight else { return }
        inFlight = nil
        let wait = backoff.next(using: &generator)
        if error.isTemporary {
            pausedUntil = now + (error.retryAfter ?? wait)
        } else {
            fruitless = Self.patience
        }
    }

    /// The log changed by something else, or somebody asks again.
    package mutating func somethingChanged() {
        fruitless = 0
    }

    /// The connection is gone, and whatever it was to answer with it.
    package mutating func disconnected() {
        inFlight = nil
        pausedUntil = nil
        fruitless = 0
    }
}
