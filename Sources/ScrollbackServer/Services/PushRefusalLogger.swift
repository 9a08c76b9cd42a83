import Logging
import ScrollbackModel
import Synchronization

/// Logs the reasons with which push services refuse pushes.
///
/// Each reason is logged immediately, then at most once a minute with the number of repetitions. A wrong key, for
/// example, fails every push.
final class PushRefusalLogger: Sendable {
    private struct Reason: Hashable {
        var service: PushService
        var text: String
    }

    private static let logInterval: Duration = .seconds(60)
    /// The maximum number of remembered reasons.
    ///
    /// Some services return a different text each time.
    private static let maximumReasons = 1_000

    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let logged = Mutex<[Reason: (at: ContinuousClock.Instant, suppressed: Int)]>([:])

    init(logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.logger = logger
        self.now = now
    }

    func refused(_ service: PushService, _ text: String) {
        let reason = Reason(service: service, text: text)
        let count: Int? = logged.withLock { logged in
            if let last = logged[reason], now() - last.at < Self.logInterval {
                logged[reason]?.suppressed += 1
                return nil
            }
            let suppressed = logged[reason]?.suppressed ?? 0
            if logged.count >= Self.maximumReasons { logged = [:] }
            logged[reason] = (now(), 0)
            return suppressed + 1
        }
        guard let count else { return }
        logger.warning(
            "The push service refuses pushes.",
            metadata: ["service": "\(service.rawValue)", "reason": "\(text)", "count": "\(count)"])
    }
}
