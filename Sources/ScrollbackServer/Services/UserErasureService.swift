import Logging
import ScrollbackEngine
import ScrollbackModel
import ServiceLifecycle

/// Runs pending erasures of users in the background.
struct UserErasureService: Service {
    let engine: Engine
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await engine.runErasures { error in
                logger.error("Erasing a user failed.", metadata: ["code": "\(error.code)"])
            }
        }
    }
}
