import Logging
import ScrollbackEngine
import ScrollbackModel
import ServiceLifecycle

/// Runs pending erasures of users in the background.
struct ErasingUsers: Service {
    let engine: Engine
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await engine.carryOutErasures { error in
                logger.error("Erasing a user failed.", metadata: ["code": "\(error.code)"])
            }
        }
    }
}
