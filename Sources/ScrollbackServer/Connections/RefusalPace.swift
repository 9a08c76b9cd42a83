import NIOCore

/// Decides when the server stops reading from a connection whose client goes on after refusals.
///
/// A client that waits for `retryAfter` gets few refusals. A client that ignores it occupies the event loop, which must
/// decode and answer each request although the rate limit refuses it. TCP then makes such a client wait.
///
/// The first pause comes after ``allowance`` refusals in a second and is short. Each further pause comes after half as
/// many refusals and takes twice as long, up to a second. After ten seconds without a pause, the client is treated like
/// a new one.
struct RefusalPace {
    /// The number of refusals in a window that cause no pause.
    static let allowance = 32
    /// The number of pings in a window that are free.
    ///
    /// Each further one counts as a refusal.
    static let freePings = 20
    static let window = TimeAmount.seconds(1)
    static let firstPause = TimeAmount.milliseconds(125)
    static let forgivenAfter = TimeAmount.seconds(10)
    private static let highestLevel = 3

    private var windowStart = NIODeadline.distantPast
    private var refusals = 0
    private var pings = 0
    private var pauseEnd: NIODeadline?
    /// The number of recent pauses, up to the one that takes a second.
    private var level = 0

    /// Whether the client was paused recently.
    var wasPaused: Bool { level > 0 }

    /// Counts a refused request.
    ///
    /// - Returns: How long to read nothing from now on, or `nil` to go on.
    mutating func refused(at now: NIODeadline) -> TimeAmount? {
        startWindow(at: now)
        return countRefusal(at: now)
    }

    /// Counts a ping or another frame that has no rate limit.
    ///
    /// - Returns: How long to read nothing from now on, or `nil` to go on.
    mutating func pinged(at now: NIODeadline) -> TimeAmount? {
        startWindow(at: now)
        pings += 1
        return pings > Self.freePings ? countRefusal(at: now) : nil
    }

    private mutating func startWindow(at now: NIODeadline) {
        if let pauseEnd {
            // The rest of a read that caused the pause does not count.
            guard now >= pauseEnd else { return }
            if now - pauseEnd >= Self.forgivenAfter {
                self.pauseEnd = nil
                level = 0
            }
        }
        guard now - windowStart >= Self.window || pauseEnd.map({ windowStart < $0 }) ?? false else { return }
        windowStart = now
        refusals = 0
        pings = 0
    }

    private mutating func countRefusal(at now: NIODeadline) -> TimeAmount? {
        if let pauseEnd, now < pauseEnd { return nil }
        refusals += 1
        guard refusals > Self.allowance >> level else { return nil }
        let pause = Self.firstPause * (1 << level)
        pauseEnd = now + pause
        level = min(level + 1, Self.highestLevel)
        return pause
    }
}
