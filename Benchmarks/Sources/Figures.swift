import Foundation

/// What rounds of one kind of work came to.
struct Figures {
    /// So many a second, one of each round.
    var rates: [Double] = []
    var durations = Sample()
    var cpuSeconds = 0.0
    /// What these seconds went into: sends, files or bytes.
    var amount = 0.0

    var best: Double { rates.max() ?? 0 }
    var median: Double { rates.isEmpty ? 0 : rates.sorted()[rates.count / 2] }
    var cpuSecondsEach: Double { cpuSeconds / max(1, amount) }

    mutating func add(_ other: Figures) {
        rates += other.rates
        durations.add(other.durations)
        cpuSeconds += other.cpuSeconds
        amount += other.amount
    }
}

/// Two that do the same work by turns, round by round, so that a machine whose speed changes shows it.
struct Turns {
    /// The first is what the second is compared with.
    let first: String
    let second: String
    let rounds: Int

    /// How the figures of a work are written.
    struct Unit {
        var rate = "/s"
        /// What the server's CPU for one of the amount is counted in, and what seconds are multiplied by for it.
        var cpu: (name: String, factor: Double)?
        var hasDurations = true

        static func each(_ name: String) -> Unit { Unit(cpu: ("ms a \(name)", 1000)) }
        /// The amount is bytes.
        static let bytes = Unit(rate: " MiB/s", cpu: ("s a GiB", Double(1 << 30)), hasDurations: false)
    }

    /// Prints each round, and then all of them with the median of their rates.
    ///
    /// - Parameter work: does one round; which of the two it is for is 0 or 1.
    /// - Returns: what all rounds came to, of both.
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
                format: "   server CPU %.3f and %.3f %@, ratio %@", one.cpuSecondsEach * cpu.factor,
                other.cpuSecondsEach * cpu.factor, cpu.name, ratio(\.cpuSecondsEach))
        }
        return text
    }
}
