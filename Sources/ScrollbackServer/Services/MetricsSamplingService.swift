import ScrollbackEngine
import ServiceLifecycle

/// Samples the metrics that the engine and the store keep, for a backend that receives metrics without requesting
/// `/metrics`.
struct MetricsSamplingService: Service {
    let metrics: ServerMetrics
    let engine: Engine
    let store: any ServerStore
    var interval = Duration.seconds(10)

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                metrics.sample(engine, store)
                try await Task.sleep(for: interval)
            }
        }
        metrics.sample(engine, store)
    }
}
