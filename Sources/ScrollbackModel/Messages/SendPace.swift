/// The rate at which a device sends messages.
public struct SendPace: Hashable, Sendable {
    /// What happens to a message that exceeds the rate.
    public enum Excess: Hashable, Sendable {
        /// The message waits in the outbox.
        case waits
        /// The message fails with `rate-limited` and can be sent again (``SendHandle``'s `retry()`).
        case fails
    }

    /// The number of messages per second, above 0.
    public var perSecond: Double
    /// The number of messages that can be sent at once, 1 or more.
    public var burst: Int
    /// What happens to a message that exceeds the rate.
    public var excess: Excess

    /// Creates a rate.
    public init(perSecond: Double = 5, burst: Int = 5, excess: Excess = .waits) {
        self.perSecond = perSecond
        self.burst = burst
        self.excess = excess
    }

    /// 5 messages per second in bursts of 5; further messages wait.
    public static let standard = SendPace()

    /// Returns the rate if it is valid.
    ///
    /// - Throws: `invalid-parameter` if a value is out of range.
    package func validated() throws(ChatError) -> SendPace {
        guard perSecond > 0, perSecond.isFinite else { throw .invalidParameter("pace.perSecond", "must be above 0") }
        guard burst >= 1 else { throw .invalidParameter("pace.burst", "must be 1 or more") }
        return self
    }
}
