import Logging
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import ServiceLifecycle

/// Stops the server when another server took over its database.
struct StoreLockService: Service {
    let store: any ServerStore
    let threads: NIOThreadPool
    let logger: Logger
    var interval = Duration.seconds(2)

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    try await Task.sleep(for: interval)
                    try await check()
                }
            }
        } catch is CancellationError {
            return
        }
    }

    private func check() async throws {
        do {
            try await threads.runIfActive { [store] in try store.checkLock() }
        } catch let error as ChatError where error.code == .conflict {
            throw error
        } catch {
            logger.warning(
                "The lock of the database could not be checked.", metadata: ["reason": "\(ChatError(wrapping: error))"])
        }
    }
}
