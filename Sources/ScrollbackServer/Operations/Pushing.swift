import ScrollbackEngine
import ServiceLifecycle

/// Tells devices of people who are away.
struct Pushing: Service {
    let engine: Engine

    func run() async throws {
        await cancelWhenGracefulShutdown { await engine.push() }
    }
}
