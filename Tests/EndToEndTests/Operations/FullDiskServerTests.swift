import Foundation
import ScrollbackModel
import Testing

@Suite struct FullDiskServerTests {
    /// Simulates a full disk with a limit on the size of files, above which the kernel refuses writes.
    ///
    /// The limit works on every test machine and can be lifted while the server runs.
    @Test
    func `On a full disk sends get 503 storage-full and reads continue, and with space sends resume without a restart`()
        async throws
    {
        let server = try await RunningServer.start(
            RunningServer.withoutLimits, shell: "trap '' XFSZ; ulimit -S -f \(3 * 1024 * 2)")
        let alice = try await server.api("alice")
        let socket = try await TestSocket.signedIn(server, "alice")
        let text = String(repeating: "x", count: 100_000)

        var stored = 0
        var refusal: Answer?
        while refusal == nil, stored < 100 {
            let answer = try await alice.send(text, to: "direct:bob")
            if answer.status == 201 { stored += 1 } else { refusal = answer }
        }
        let refused = try #require(refusal)
        #expect(stored > 5)
        #expect(refused.status == 503 && refused.code == "storage-full", "\(refused)")
        #expect(refused.json.all["temporary"] as? Bool == true)
        #expect(Int(refused.headers["retry-after"] ?? "") == 5)
        let frame = try await socket.request(
            #""type":"send","conversation":"direct:bob","message":\#(API.message(text))"#)
        #expect(frame.string("code") == "storage-full" && frame.int("retryAfter") == 5, "\(frame.all)")

        // Reads and requests that need no disk space continue.
        let page = try await alice.call("GET", "/v1/conversations/direct:bob/messages?limit=5")
        #expect(page.status == 200 && page.json.objects("messages").count == 5)
        #expect(try await alice.call("GET", "/readyz").status == 200)
        #expect(
            try await socket.request(#""type":"history","conversation":"direct:bob","limit":1"#).int("head") == stored)
        let metrics = try await server.admin().call("GET", "/metrics").text
        #expect(
            metrics.contains("scrollback_failed_commits_total ")
                && !metrics.contains("scrollback_failed_commits_total 0\n"))

        let lifted = Process()
        lifted.executableURL = URL(filePath: "/usr/bin/env")
        lifted.arguments = ["prlimit", "--pid", "\(server.pid)", "--fsize=unlimited:"]
        try lifted.run()
        lifted.waitUntilExit()
        try #require(lifted.terminationStatus == 0, "This test requires the program prlimit (package util-linux).")

        let again = try await alice.send("there is room", to: "direct:bob")
        #expect(again.status == 201 && again.json.int("seq") == stored + 1, "\(again)")
        #expect(
            try await socket.request(#""type":"send","conversation":"direct:bob","message":\#(API.message(text))"#)
                .int("seq") == stored + 2)
        #expect(try await server.terminate() == 0)
        let verdict = try await RunningServer.command(["verify", server.data.path])
        #expect(verdict.code == 0, "\(verdict)")
    }
}
