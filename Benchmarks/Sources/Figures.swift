import Foundation

/// The results of several rounds of one workload.
struct Figures {
    /// The rate of each round in units per second.
    var rates: [Double] = []
    var durations = Sample()
    var cpuSeconds = 0.0
    /// The amount of work for `cpuSeconds`: sends, files or bytes.
    var amount = 0.0

    var best: Double { rates.max() ?? 0 }
    var median: Double { rates.isEmpty ? 0 : rates.sorted()[rates.count / 2] }
    var cpuSecondsPerUnit: Double { cpuSeconds / max(1, amount) }

    mutating func add(_ other: Figures) {
        rates += other.rates
        durations.add(other.durations)
        cpuSeconds += other.cpuSeconds
        amount += other.amount
    }
}

/// Compares two implementations of a workload in alternating rounds, so that changes of the machine's speed are
/// visible.
struct Comparison {
    /// The name of the reference.
    ///
    /// `second` is compared with it.
    let first: String
    let second: String
    let rounds: Int

    /// How the results of a workload are printed.
    struct Unit {
        var rate = "/s"
        /// The unit of the server's CPU time per amount, and the factor that converts seconds to it.
        var cpu: (name: String, factor: Double)?
        var hasDurations = true

        static func each(_ name: String) -> Unit { Unit(cpu: ("ms per \(name)", 1000)) }
        /// The unit of workloads whose amount is bytes.
        static let bytes = Unit(rate: " MiB/s", cpu: ("s per GiB", Double(1 << 30)), hasDurations: false)
    }

    /// Prints each round, and then the median rates of all rounds.
    ///
    /// - Parameters:
    ///   - name: The name of the workload.
    ///   - unit: How the results are printed.
    ///   - work: Runs one round. `which` is 0 for the first implementation and 1 for the second.
    /// - Returns: The results of all rounds.
    @discardableResult
    func compare(
        _ name: String, in unit: Unit, _ work: (_ which: Int, _ round: Int) async throws -> Figures
    ) async throws -> (first: Figures, second: Figures) {
        report(name, "")
        var all = (first: Figures(), second: Figures())
        for round in 1...rounds {
            let first = try await work(0, round)
            let second = try await work(1, round)
            report("  round \(round)", text(first, second, unit))
            all.first.add(first)
            all.second.add(second)
        }
        report("  all rounds", text(all.first, all.second, unit))
        return all
    }

    private func text(_ one: Figures, _ other: Figures, _ unit: Unit) -> String {
        func figures(_ name: String, _ figures: Figures) -> String {
            let rate = String(format: "%@ %.0f%@", name, figures.median, unit.rate)
            guard unit.hasDurations else { return rate }
            let sample = figures.durations
            return rate + String(format: "  p50 %.3f ms  p99 %.3f", sample.percentile(0.5), sample.percentile(0.99))
        }
        func ratio(_ of: (Figures) -> Double) -> String { String(format: "%.2f", of(other) / of(one)) }
        var text = "\(figures(first, one))   \(figures(second, other))   ratio \(ratio(\.median))"
        if unit.hasDurations {
            text += ", p50 \(ratio { $0.durations.percentile(0.5) }), p99 \(ratio { $0.durations.percentile(0.99) })"
        }
        if let cpu = unit.cpu {
            text += String(
                format: "   server CPU %.3f and %.3f %@, ratio %@", one.cpuSecondsPerUnit * cpu.factor,
                other.cpuSecondsPerUnit * cpu.factor, cpu.name, ratio(\.cpuSecondsPerUnit))
        }
        return text
    }
}
