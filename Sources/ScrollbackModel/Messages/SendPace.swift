/// How fast a device sends messages.
public struct SendPace: Hashable, Sendable {
    /// What becomes of a message above the pace.
    public enum Excess: Hashable, Sendable {
        /// It waits for its turn.
        case waits
        /// It is kept as failed with `rate-limited`, and can be sent again (``Sending``'s `retry()`).
        case fails
    }

    /// How many messages a second, above 0.
    public var perSecond: Double
    /// How many at once, 1 or more.
    public var burst: Int
    /// What becomes of a message above the pace.
    public var excess: Excess

    /// A pace of so many messages a second.
    public init(perSecond: Double = 5, burst: Int = 5, excess: Excess = .waits) {
        self.perSecond = perSecond
        self.burst = burst
        self.excess = excess
    }

    /// 5 a second and 5 at once; what is above that waits (row 79).
    public static let standard = SendPace()

    /// - Throws: `invalid-parameter` when it is no pace.
    package func validated() throws(ChatError) -> SendPace {
        guard perSecond > 0, perSecond.isFinite else { throw .invalidParameter("pace.perSecond", "must be above 0") }
        guard burst >= 1 else { throw .invalidParameter("pace.burst", "must be 1 or more") }
        return self
    }
}
