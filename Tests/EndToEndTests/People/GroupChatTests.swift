import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite("The example with a group", .timeLimit(.minutes(10)))
struct GroupChatTests {
    @Test("Two users make a group with profiles, a thread, a poll, a pinned message and a voice message")
    func example() async throws {
        let server = try await RunningServer.start()
        let voice = server.folder.appending(component: "voice.amr")
        try Data("#!AMR\n.".utf8).write(to: voice)
        let app = try ChildProcess(
            try RunningServer.program(named: "GroupChat"),
            [server.url.absoluteString, try await server.token("alice"), try await server.token("bob"), voice.path],
            name: "group-chat", folder: server.folder)
        let code = try await app.end(within: .seconds(300))
        #expect(code == 0, "\(app.errorText)")
        #expect(
            app.outputText == """
                Bicycle tour: Alice Liddell, Bob 🚲
                alice: Where shall we go?
                alice: Which day?
                bob: To the lake! (in a thread)
                bob: voice
                pinned: Saturday 0, Sunday 1

                """)
        try await server.terminate()
    }
}
