import CoreMetrics
import ScrollbackEngine
import Synchronization

/// Declares metrics in a registry, and makes the objects that record them.
struct MetricBuilder {
    /// Reads a value that the engine or the store keeps, and records it.
    ///
    /// A gauge whose value can't be read is not a number.
    typealias Sample = @Sendable (Engine, any ServerStore) -> Void

    private let registry: MetricsRegistry
    /// The registry, and the other backend if there is one.
    let factory: any MetricsFactory
    private(set) var samples: [Sample] = []

    init(_ registry: MetricsRegistry, _ factory: (any MetricsFactory)?) {
        self.registry = registry
        self.factory = factory.map { MultiplexMetricsHandler(factories: [registry, $0]) } ?? registry
    }

    func declare(_ name: String, _ kind: MetricsRegistry.Kind, _ help: String) {
        registry.declare(name, kind, help)
    }

    mutating func sample(_ sample: @escaping Sample) { samples.append(sample) }

    func counter(_ name: String, _ help: String) -> Counter {
        declare(name, .counter, help)
        return Counter(label: name, factory: factory)
    }

    /// Declares a counter whose total the engine keeps.
    mutating func counter(_ name: String, _ help: String, total: @escaping @Sendable (Engine) -> Int) {
        let counted = SampledTotal(counter(name, help))
        sample { engine, _ in counted.increase(to: total(engine)) }
    }

    func gauge(_ name: String, _ help: String, _ kind: MetricsRegistry.Kind = .gauge) -> Meter {
        declare(name, kind, help)
        return Meter(label: name, factory: factory)
    }

    /// Declares a histogram of durations.
    ///
    /// - Parameter bounds: The upper bounds of its buckets in seconds.
    func timer(_ name: String, _ help: String, _ bounds: [Double]) -> Timer {
        declare(name, .histogram(bounds), help)
        return Timer(label: name, factory: factory)
    }

    /// Declares a histogram of numbers.
    func recorder(_ name: String, _ help: String, _ bounds: [Double]) -> Recorder {
        declare(name, .histogram(bounds), help)
        return Recorder(label: name, factory: factory)
    }
}

/// A counter of a total that is kept elsewhere.
final class SampledTotal: Sendable {
    private let counter: Counter
    private let last = Atomic<Int>(0)

    init(_ counter: Counter) {
        self.counter = counter
    }

    /// Increments the counter by the growth since the last call.
    func increase(to total: Int) {
        let before = last.max(total, ordering: .relaxed).oldValue
        if total > before { counter.increment(by: total - before) }
    }
}

/// The total of one combination of labels, in the order of their declaration.
typealias LabeledTotal = (labels: [(String, String)], total: Int)

/// A counter with labels, whose totals are kept elsewhere.
final class SampledTotals: Sendable {
    private let name: String
    private let factory: any MetricsFactory
    private let known = Mutex<[[String]: SampledTotal]>([:])

    init(_ name: String, _ help: String, _ builder: MetricBuilder) {
        self.name = name
        factory = builder.factory
        builder.declare(name, .counter, help)
    }

    /// Increments the counter of each combination of labels by its growth since the last call.
    func increase(to totals: [LabeledTotal]) {
        for (labels, total) in totals {
            let counter = known.withLock { known in
                let key = labels.map(\.1)
                if let counter = known[key] { return counter }
                let counter = SampledTotal(Counter(label: name, dimensions: labels, factory: factory))
                known[key] = counter
                return counter
            }
            counter.increase(to: total)
        }
    }
}
