import Logging
import ScrollbackModel
import Synchronization

/// Tells an operator what push services refuse, in the services' own words.
///
/// Each reason is told at once, and again after a minute at the earliest, with how often it came meanwhile: a wrong key is refused with
/// every push.
final class PushRefusals: Sendable {
    private struct Reason: Hashable {
        var service: PushService
        var words: String
    }

    private static let pause: Duration = .seconds(60)
    /// Words that a service makes up anew each time are not kept for ever.
    private static let mostReasons = 1_000

    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let told = Mutex<[Reason: (at: ContinuousClock.Instant, untold: Int)]>([:])

    init(logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.logger = logger
        self.now = now
    }

    func refused(_ service: PushService, _ words: String) {
        let reason = Reason(service: service, words: words)
        let count: Int? = told.withLock { told in
            if let last = told[reason], now() - last.at < Self.pause {
                told[reason]?.untold += 1
                return nil
            }
            let untold = told[reason]?.untold ?? 0
            if told.count >= Self.mostReasons { told = [:] }
            told[reason] = (now(), 0)
            return untold + 1
        }
        guard let count else { return }
        logger.warning(
            "pushes are refused",
            metadata: ["service": "\(service.rawValue)", "reason": "\(words)", "count": "\(count)"])
    }
}
