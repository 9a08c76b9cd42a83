import Foundation
import TestSupport
import Testing

@Suite("The example without a server", .timeLimit(.minutes(10)))
struct OutsideAppTests {
    @Test("An app queues a message and a file offline, and reads them back")
    func example() async throws {
        let folder = try TemporaryFolder()
        let app = try ChildProcess(
            try RunningServer.program(named: "OutsideApp"), [], name: "outside-app", folder: folder.url)
        let code = try await app.end(within: .seconds(300))
        #expect(code == 0, "\(app.errorText)")
        #expect(app.outputText == "queued: Hello from another package\nqueued: tides.txt\nlisted: 0\n")
    }
}
