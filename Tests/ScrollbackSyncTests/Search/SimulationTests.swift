import Foundation
import ScrollbackModel
import ScrollbackSync
import TestSupport
import Testing

/// Runs random scenarios against a model server.
///
/// `SCROLLBACK_SEEDS` sets the number of scenarios, and `SCROLLBACK_SEED` replays one.
@Suite("Randomized search for faults")
struct SimulationTests {
    @Test("After random network faults, all clients agree with the server")
    func devicesAgreeWithTheServer() {
        for seed in Seeds.range() where Self.violation(seed: seed) != nil {
            Self.report(seed)
            return
        }
    }

    private static func violation(seed: UInt64) -> Simulation.Violation? {
        var simulation = Simulation(seed: seed)
        return run(&simulation)
    }

    private static func run(_ simulation: inout Simulation) -> Simulation.Violation? {
        do throws(Simulation.Violation) {
            for _ in 0..<400 { try simulation.step() }
            try simulation.runUntilConverged()
            try simulation.checkConvergence()
            return nil
        } catch {
            return error
        }
    }

    /// Runs the seed again with a trace. The seed determines all steps, so the failure repeats.
    private static func report(_ seed: UInt64) {
        var simulation = Simulation(seed: seed, isTraced: true)
        let violation = run(&simulation)
        let steps = simulation.trace?.steps.suffix(30).joined(separator: "\n  ") ?? ""
        Issue.record(
            """
            \(violation?.description ?? "The seed did not fail again.")
            Replay: SCROLLBACK_SEED=\(seed) swift test --filter SimulationTests
            The last steps:
              \(steps)
            """)
    }
}
