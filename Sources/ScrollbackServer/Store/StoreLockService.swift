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
                var isFailing = false
                while true {
                    try await Task.sleep(for: interval)
                    isFailing = try await check(wasFailing: isFailing)
                }
            }
        } catch is CancellationError {
            return
        }
    }

    /// - Returns: Whether the lock could not be checked.
    private func check(wasFailing: Bool) async throws -> Bool {
        do {
            try await threads.runIfActive { [store] in try store.checkLock() }
            if wasFailing { logger.notice("The database can be reached again.") }
            return false
        } catch let error as ChatError where error.code == .conflict {
            throw error
        } catch {
            if !wasFailing {
                logger.warning(
                    "The lock of the database could not be checked.",
                    metadata: ["reason": "\(ChatError(wrapping: error))"])
            }
            return true
        }
    }
}
