import Foundation
import TestSupport
import Testing

@Suite("Usage of commands")
struct CommandUsageTests {
    @Test("A limit or a count out of range is an error of usage")
    func limits() async throws {
        for (arguments, word) in [
            (["listen", "--count", "0"], "at least 1"), (["listen", "--count=-1"], "at least 1"),
            (["history", "group:crew", "--around", "latest", "--limit", "101"], "0...100"),
            (["history", "group:crew", "--limit=-1"], "0...100"),
        ] {
            let refused = try await RunningServer.command(arguments + ["--as", "alice"])
            #expect(refused.code == 64 && refused.errors.contains(word), "\(arguments): \(refused)")
        }
    }

    @Test("A command that can't make a token fails instead of connecting for ever")
    func tokens() async throws {
        let folder = try TemporaryFolder()
        for command in [["chat", "group:crew"], ["listen"], ["recents", "--watch"]] {
            let refused = try await RunningServer.command(
                command + ["--as", "alice", "--server", "http://127.0.0.1:1", "--data", folder.url.path])
            #expect(refused.code == 1 && refused.errors.contains("has no secrets.json"), "\(command): \(refused)")
        }
    }
}
