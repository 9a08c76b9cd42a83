import Logging
import ScrollbackEngine
import ScrollbackModel
import ServiceLifecycle

/// Removes what belongs to users who are to be erased, beside everything else.
struct ErasingUsers: Service {
    let engine: Engine
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await engine.carryOutErasures { error in
                logger.error("erasing a user does not go on", metadata: ["code": "\(error.code)"])
            }
        }
    }
}
