import ScrollbackEngine
import ServiceLifecycle

/// Delivers push notifications to offline users in the background.
struct Pushing: Service {
    let engine: Engine

    func run() async throws {
        await cancelWhenGracefulShutdown { await engine.push() }
    }
}
