import CoreMetrics
import Synchronization

/// A swift-metrics backend that renders its metrics in Prometheus' text format (version 0.0.4).
///
/// Recording takes no lock of the registry. Incrementing a counter is one atomic addition.
final class MetricsRegistry: MetricsFactory {
    enum Kind {
        case counter
        case gauge
        /// A gauge that is rendered with decimals.
        case ratio
        /// For each upper bound, the number of values that do not exceed it.
        case histogram([Double])
    }

    private struct Family {
        let name: String
        let kind: Kind
        let help: String
        var series: [(dimensions: [(String, String)], handler: any RenderedHandler)] = []
    }

    private let families = Mutex<[Family]>([])

    /// Declares a metric, which has no values until its handler is made.
    func declare(_ name: String, _ kind: Kind, _ help: String) {
        families.withLock { $0.append(Family(name: name, kind: kind, help: help)) }
    }

    /// Returns the text of all metrics in the order of their declaration.
    ///
    /// A gauge that is not a number is left out.
    func text() -> String {
        let families = families.withLock { $0 }
        var text = ""
        for family in families {
            let rows = family.series.sorted { $0.dimensions.map(\.1).lexicographicallyPrecedes($1.dimensions.map(\.1)) }
                .map { $0.handler.text(family.name, Self.labels($0.dimensions)) }.joined()
            let type: String
            switch family.kind {
            case .counter: type = "counter"
            case .histogram: type = "histogram"
            case .gauge, .ratio:
                if rows.isEmpty { continue }
                type = "gauge"
            }
            text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(type)\n\(rows)"
        }
        return text
    }

    private static func labels(_ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return "" }
        return "{" + dimensions.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",") + "}"
    }

    /// Returns the handler of a metric, making it the first time.
    private func handler<Handler: RenderedHandler>(
        _ label: String, _ dimensions: [(String, String)], _ make: (Kind) -> Handler
    ) -> Handler {
        families.withLock { families in
            guard let index = families.firstIndex(where: { $0.name == label }) else {
                preconditionFailure("The metric \(label) is not declared.")
            }
            let known = families[index].series.first { $0.dimensions.elementsEqual(dimensions, by: ==) }
            if let known = known?.handler as? Handler { return known }
            let new = make(families[index].kind)
            families[index].series.append((dimensions, new))
            return new
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        handler(label, dimensions) { _ -> CountHandler in CountHandler() }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        handler(label, dimensions) { kind -> GaugeHandler in
            if case .ratio = kind { GaugeHandler(hasDecimals: true) } else { GaugeHandler(hasDecimals: false) }
        }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        histogram(label, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions)
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramHandler {
        handler(label, dimensions) { kind -> HistogramHandler in
            guard case .histogram(let bounds) = kind else {
                preconditionFailure("The metric \(label) is not declared as a histogram.")
            }
            return HistogramHandler(bounds)
        }
    }

    // The server's metrics live as long as the server.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// The values of one metric with certain dimensions.
private protocol RenderedHandler: AnyObject, Sendable {
    /// Returns the lines of the values.
    func text(_ name: String, _ labels: String) -> String
}

private final class CountHandler: CounterHandler, RenderedHandler {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }
    func text(_ name: String, _ labels: String) -> String {
        "\(name)\(labels) \(value.load(ordering: .relaxed))\n"
    }
}

private final class GaugeHandler: MeterHandler, RenderedHandler {
    private let hasDecimals: Bool
    private let value = Mutex(Double.nan)

    init(hasDecimals: Bool) {
        self.hasDecimals = hasDecimals
    }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func text(_ name: String, _ labels: String) -> String {
        let value = value.withLock { $0 }
        guard !value.isNaN else { return "" }
        if !hasDecimals, let integer = Int64(exactly: value) { return "\(name)\(labels) \(integer)\n" }
        return "\(name)\(labels) \(value)\n"
    }
}

private final class HistogramHandler: RecorderHandler, TimerHandler, RenderedHandler {
    private struct State {
        /// For each bound, the number of values that exceed the previous bound but not this one.
        var counts: [Int]
        var total = 0
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(_ bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count)))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 }
        state.withLock { state in
            if let index { state.counts[index] += 1 }
            state.total += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func text(_ name: String, _ labels: String) -> String {
        let state = state.withLock { $0 }
        let others = labels.isEmpty ? "" : labels.dropFirst().dropLast() + ","
        var text = ""
        var below = 0
        for (bound, count) in zip(bounds, state.counts) {
            below += count
            text += "\(name)_bucket{\(others)le=\"\(bound)\"} \(below)\n"
        }
        text += "\(name)_bucket{\(others)le=\"+Inf\"} \(state.total)\n"
        return text + "\(name)_sum\(labels) \(state.sum)\n\(name)_count\(labels) \(state.total)\n"
    }
}
