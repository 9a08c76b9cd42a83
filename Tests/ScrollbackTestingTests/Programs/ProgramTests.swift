import Scrollback
import ScrollbackSQLite
import ScrollbackTesting
import Testing

/// The SDK and the server on SQLite, and the same group on paper, given the same random programs: the same answers, page for
/// page.
@Suite("Programs against a plain model")
struct ProgramTests {
    @Test("Random programs of changes and questions get the answers of the plain model, page for page")
    func programs() async throws {
        // Each seed is a server and four devices.
        try await Seeds.each(upTo: 2_000, per: 5) { seed in
            try await Program.run(seed: seed)
            return nil
        }
    }
}
