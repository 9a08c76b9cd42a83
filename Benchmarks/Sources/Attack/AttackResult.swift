import Foundation

/// The effect of one attack on the server and on the measuring user.
struct AttackResult: Encodable {
    var attack: AttackKind
    var description: String
    /// The duration of the attack in seconds.
    var seconds: Double
    /// The server's resident memory before the attack in MiB.
    var memoryBefore: Double
    /// The peak of the server's resident memory during the attack in MiB.
    var memoryPeak: Double
    /// The server's CPU time per second before and during the attack.
    var cpuQuiet: Double
    var cpuAttacked: Double
    var user: [UserWork: Comparison] = [:]
    var attacker: AttackTally
    /// The goals that the server missed.
    var missed: [String] = []

    /// A user's requests without and during the attack.
    struct Comparison: Encodable {
        var quiet: Latencies
        var attacked: Latencies
    }

    /// Durations in milliseconds.
    struct Latencies: Encodable {
        var count: Int
        var p50: Double
        var p99: Double
        var failures: [String: Int]

        init(_ entries: [WellBehavedUser.Entry]) {
            var sample = Sample()
            for entry in entries { sample.add(entry.seconds) }
            count = entries.count
            p50 = sample.percentile(0.5)
            p99 = sample.percentile(0.99)
            failures = Dictionary(entries.compactMap(\.failure).map { ($0, 1) }, uniquingKeysWith: +)
        }
    }

    /// The memory by which an attack may let the server grow, in MiB.
    static let allowedGrowth = 64.0

    /// Compares the figures with the goals.
    ///
    /// - Parameter ending: How the server ended, or `nil` if it still runs.
    mutating func judge(ending: String?) {
        if let ending { missed.append("the server ended with \(ending)") }
        let growth = memoryPeak - memoryBefore
        if growth > Self.allowedGrowth { missed.append(String(format: "memory +%.0f MiB", growth)) }
        for work in UserWork.allCases {
            guard let (quiet, attacked) = user[work].map({ ($0.quiet, $0.attacked) }) else { continue }
            if attacked.count == 0 { missed.append("no \(work.rawValue) during the attack") }
            if attacked.p99 > max(100, 3 * quiet.p99) {
                missed.append(
                    String(format: "%@ p99 %.0f ms, quiet %.1f ms", work.rawValue, attacked.p99, quiet.p99))
            }
            for (reason, count) in attacked.failures.sorted(by: { $0.key < $1.key }) {
                missed.append("\(count) \(work.rawValue) failed: \(reason)")
            }
        }
    }

    // MARK: Table

    static let header = """
        | attack | server memory, MiB | server CPU, cores | send p50, p99 ms | list | hello | small upload | the \
        attacker | goals |
        |---|---|---|---|---|---|---|---|---|
        """

    /// The result as a row of a Markdown table.
    ///
    /// Arrows lead from the quiet figures to those during the attack.
    var row: String {
        let latencies = UserWork.allCases.map { work in
            user[work].map { "\(Self.text($0.quiet)) → \(Self.text($0.attacked))" } ?? "—"
        }
        let memory = String(format: "%.0f → %.0f", memoryBefore, memoryPeak)
        let cpu = String(format: "%.2f → %.2f", cpuQuiet, cpuAttacked)
        let goals = missed.isEmpty ? "met" : missed.joined(separator: "; ")
        return
            "| `\(attack.rawValue)`: \(description) | \(memory) | \(cpu) | \(latencies.joined(separator: " | ")) | "
            + "\(attackerText) | \(goals) |"
    }

    private static func text(_ latencies: Latencies) -> String {
        String(format: "%.1f, %.1f", latencies.p50, latencies.p99)
    }

    private var attackerText: String {
        var parts = [String(format: "%.0f/s", Double(attacker.accepted) / seconds)]
        if attacker.open > 0 { parts.append("\(attacker.open) open at once") }
        if attacker.sentBytes > 0 { parts.append("\(attacker.sentBytes >> 20) MiB sent") }
        parts += attacker.refused.sorted { $0.value > $1.value }.prefix(4).map { "\($0.key) × \($0.value)" }
        return parts.joined(separator: ", ")
    }
}
