import Logging
import ScrollbackEngine
import ScrollbackModel
import ServiceLifecycle

/// Expires old messages, removes data that no user can see, and frees disk space.
///
/// Runs at a fixed interval, and immediately after a retention setting changes.
struct CleanupService: Service {
    private let engine: Engine
    private let interval: Duration
    private let logger: Logger
    private let wakes: AsyncStream<Bool>
    private let wake: AsyncStream<Bool>.Continuation

    init(engine: Engine, interval: Duration, logger: Logger) {
        self.engine = engine
        self.interval = interval
        self.logger = logger
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Starts a run now instead of waiting for the interval.
    func runNow() { wake.yield(true) }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: interval)
                        wake.yield(false)
                    }
                }
                for await _ in wakes where engine.isLeader {
                    do {
                        try await engine.expire()
                        try await engine.sweep()
                        try await engine.prune()
                        try await engine.cleanUpMedia()
                    } catch is CancellationError {
                        break
                    } catch {
                        logger.error(
                            "Removing expired data failed.", metadata: ["code": "\(ChatError(wrapping: error).code)"])
                    }
                }
                group.cancelAll()
            }
        }
    }
}
