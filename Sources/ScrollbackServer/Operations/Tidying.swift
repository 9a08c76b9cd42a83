import Logging
import ScrollbackEngine
import ScrollbackModel
import ServiceLifecycle

/// Hides what was kept long enough, removes what nobody can see, and gives room back: now and then, and at once where
/// somebody changed how long things are kept.
struct Tidying: Service {
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

    /// Begins now what would come later.
    func begin() { wake.yield(true) }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: interval)
                        wake.yield(false)
                    }
                }
                for await _ in wakes {
                    do {
                        try await engine.expire()
                        try await engine.sweep()
                        try await engine.forget()
                        try await engine.tidyMedia()
                    } catch is CancellationError {
                        break
                    } catch {
                        logger.error("tidying failed", metadata: ["code": "\(ChatError(wrapping: error).code)"])
                    }
                }
                group.cancelAll()
            }
        }
    }
}
