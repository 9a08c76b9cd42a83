import Logging
import ScrollbackModel
import Synchronization

/// Logs the reasons with which push services refuse pushes.
///
/// Each reason is logged immediately, then at most once a minute with the number of repetitions. A wrong key, for
/// example, fails every push.
final class PushRefusals: Sendable {
    private struct Reason: Hashable {
        var service: PushService
        var words: String
    }

    private static let pause: Duration = .seconds(60)
    /// The maximum number of remembered reasons.
    ///
    /// Some services return a different text each time.
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
            "The push service refuses pushes.",
            metadata: ["service": "\(service.rawValue)", "reason": "\(words)", "count": "\(count)"])
    }
}
