import Logging
import ScrollbackEngine
import ServiceLifecycle

/// Sends scheduled messages, up to 200 ms after their times.
struct ScheduledMessageService: Service {
    let engine: Engine
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await engine.sendScheduledMessages()
                    try await Task.sleep(for: .milliseconds(200))
                } catch is CancellationError {
                    return
                } catch {
                    logger.error("Scheduled messages can't be sent.", metadata: ["error": "\(error)"])
                    try? await Task.sleep(for: .seconds(5))
                }
            }
        }
    }
}
