import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

/// Small versions of `scrollback-bench attack settings-4` and `search-http`, and a client that waits for `retryAfter`.
@Suite("Ignored refusals", .timeLimit(.minutes(5)))
struct IgnoredRefusalTests {
    private static let pauses = "scrollback_receive_pauses_total"

    @Test("A flooding WebSocket gets one answer for each request, in pauses, and another user is served")
    func webSocket() async throws {
        let server = try await RunningServer.start(["--write-rate", "1", "--write-burst", "5"])
        let created = try await server.admin().call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#)
        try #require(created.status == 201)
        let alice = try await TestSocket.signedIn(server, "alice")
        let bob = try await TestSocket.signedIn(server, "bob")
        for ref in 1001...1150 {
            alice.send(#"{"type":"settings","ref":\#(ref),"conversation":"group:crew","muted":\#(ref % 2 == 0)}"#)
        }
        #expect(try await bob.request(#""type":"ping""#).string("type") == "result")
        let refs = try await eventually("every request is answered") { () -> [Int]? in
            let refs = alice.frames.compactMap { $0.int("ref") }.filter { $0 > 1000 }
            return refs.count >= 150 ? refs : nil
        }
        #expect(refs.sorted() == Array(1001...1150))
        #expect(alice.frames.contains { $0.string("type") == "error" })
        #expect(try await server.metric(Self.pauses) >= 3)
        // The connection is an ordinary one again when the client waits.
        #expect(try await alice.request(#""type":"ping""#).string("type") == "result")
        try await server.terminate()
    }

    @Test("A flooding HTTP connection gets one answer for each request, in pauses")
    func http() async throws {
        let server = try await RunningServer.start(["--search-rate", "0.001", "--search-burst", "5"])
        let token = try await server.token("alice")
        let connection = try await RawConnection(server)
        // All at once, because a busy machine could take longer than a second for 33 requests one after the other. The
        // first pause follows 33 refusals within a second, which happens among 135 refusals even if the machine stalls.
        let request = "GET /v1/search?text=a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
        connection.write(String(repeating: request, count: 140))
        for number in 1...140 { #expect(try await connection.answer().status == (number <= 5 ? 200 : 429)) }
        #expect(try await server.metric(Self.pauses) >= 1)
        connection.close()
        try await server.terminate()
    }

    @Test("A client of the SDK that sends more than its limit waits for `retryAfter`, and is never paused")
    func sdk() async throws {
        // A rate that the client exceeds on a busy machine, too.
        let server = try await RunningServer.start(["--send-rate", "1", "--send-burst", "5"])
        let alice = try await Device.open(server, "alice", pace: nil)
        let chat = alice.conversation(.direct("bob"))
        var last: SendHandle?
        for number in 1...15 { last = try await chat.send(.text("\(number)")) }
        _ = try await last?.waitUntilSent()
        let messages = try await Device.everything(in: ConversationID("direct:alice/bob"), of: server)
        #expect(messages.compactMap(\.text) == (1...15).map(String.init))
        #expect(try await server.metric(#"scrollback_rate_limited_total{class="message"}"#) > 0)
        #expect(try await server.metric(Self.pauses) == 0)
        await alice.close()
        try await server.terminate()
    }
}
