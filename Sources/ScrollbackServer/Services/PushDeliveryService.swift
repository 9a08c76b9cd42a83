import ScrollbackEngine
import ServiceLifecycle

/// Delivers push notifications to offline users in the background.
struct PushDeliveryService: Service {
    let engine: Engine

    func run() async throws {
        await cancelWhenGracefulShutdown { await engine.runPushLoop() }
    }
}
