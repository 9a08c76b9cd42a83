import Scrollback
import ScrollbackSQLite
import ScrollbackTesting
import TestSupport
import Testing

/// Runs the same random scenarios on the SDK with a SQLite server and on a reference model, and compares every page.
@Suite("Random scenarios against a reference model")
struct RandomScenarioTests {
    @Test("Random changes and requests give the pages of the reference model")
    func pagesMatchTheReferenceModel() async throws {
        // Each seed creates a server and four clients.
        try await Seeds.each(upTo: 2_000, per: 10) { seed in
            try await RandomScenario.run(seed: seed)
            return nil
        }
    }
}
