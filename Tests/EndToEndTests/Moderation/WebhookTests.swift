import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite("Webhooks over the network")
struct WebhookTests {
    private let secret = "0123456789abcdef-secret"

    private func fixture() async throws -> (server: RunningServer, admin: API, alice: API) {
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        #expect(
            try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#).status == 201)
        return (server, admin, try await server.api("alice"))
    }

    private func set(_ json: String, _ admin: API) async throws {
        let answer = try await admin.call("PUT", "/v1/settings", #"{"webhooks":\#(json)}"#)
        #expect(answer.status == 200, "\(answer)")
        #expect(!answer.text.contains(secret))
    }

    private func sendMessage(_ text: String, _ api: API) async throws {
        let answer = try await api.send(text, to: "group:crew")
        #expect(answer.status == 201, "\(answer)")
    }

    @Test("Events are signed, delivered in order, and retried until a receiver that failed or was down accepts them")
    func eventsAreSignedOrderedAndRetried() async throws {
        let (server, admin, alice) = try await fixture()
        let receiver = WebhookReceiver(.answers("", status: 503))
        // Another test's connection can't take this port while the receiver is down.
        try await receiver.start(port: RunningServer.freePort())
        try await set(#"{"after":{"url":"\#(receiver.url)","secret":"\#(secret)"}}"#, admin)
        try await sendMessage("one", alice)
        _ = try await eventually("the receiver gets a request") { receiver.posts.isEmpty ? nil : true }
        let port = receiver.port
        try await receiver.stop()
        for text in ["two", "three"] { try await sendMessage(text, alice) }
        #expect(try await server.metric("scrollback_webhook_waiting") == 3)
        receiver.set(.answers(""))
        try await receiver.start(port: port)
        let delivered = try await eventually("all events have arrived") {
            receiver.deliveries.suffix(3).map(\.text) == ["one", "two", "three"] ? receiver.deliveries : nil
        }
        #expect(
            delivered.first?.text == "one"
                && delivered.first?.delivery == delivered.first { $0.text == "one" }?.delivery)
        #expect(Set(delivered.map(\.delivery)).count == 3)
        #expect(receiver.posts.allSatisfy { $0.isSigned(by: secret) && $0.headers["scrollback-delivery"] != nil })
        _ = try await eventually("no event is waiting") {
            try await server.metric("scrollback_webhook_waiting") == 0 ? true : nil
        }
        for line in ["A webhook does not accept events.", "A webhook accepts events again."] {
            _ = try await eventually("the log has: \(line)") { server.log.contains(line) ? true : nil }
        }
        #expect(server.log.contains(" webhook=after"), "\(server.log)")
        try await server.terminate()
    }

    @Test("Events of acknowledged messages are delivered after the server was killed and restarted")
    func eventsSurviveServerKill() async throws {
        let (server, admin, alice) = try await fixture()
        let receiver = WebhookReceiver(.hangs)
        try await receiver.start()
        try await set(#"{"after":{"url":"\#(receiver.url)","secret":"\#(secret)"}}"#, admin)
        for number in 1...20 { try await sendMessage("\(number)", alice) }
        server.kill()
        receiver.set(.answers(""))
        let before = receiver.posts.count
        try await server.start()
        let texts = try await eventually("all events have arrived", within: 60) {
            let texts = receiver.posts.dropFirst(before).flatMap { $0.json.objects("events") }.compactMap {
                ((($0["data"] as? [String: Any])?["message"] as? [String: Any])?["content"] as? [String: Any])?["text"]
                    as? String
            }
            return texts.count >= 20 ? texts : nil
        }
        #expect(texts == (1...20).map(String.init))
        try await server.terminate()
    }

    @Test("A second webhook gets its own events, and the command line lists its deliveries and sends them again")
    func subscriptions() async throws {
        let (server, admin, alice) = try await fixture()
        let (first, second) = (WebhookReceiver(.answers("")), WebhookReceiver(.answers("", status: 500)))
        try await first.start()
        try await second.start()
        try await set(
            #"""
            {"after":{"url":"\#(first.url)","secret":"\#(secret)"},"subscriptions":{"pins":
            {"url":"\#(second.url)","secret":"\#(secret) 2","events":["pin","member"]}}}
            """#, admin)
        let id = UUID()
        #expect(try await alice.send("one", to: "group:crew", id: id).status == 201)
        let pins = "/v1/conversations/group:crew/messages/\(id.uuidString.lowercased())/actions"
        #expect(try await admin.call("POST", pins, #"{"type":"pin","value":"pin"}"#).status == 201)
        try await eventually("the first webhook has the message") { first.deliveries.isEmpty ? nil : true }
        func list(_ arguments: String...) async throws -> [Members] {
            let ended = try await RunningServer.command(
                ["admin", "deliveries", "pins", "--json", "--server", server.url.absoluteString]
                    + ["--data", server.data.path] + arguments)
            #expect(ended.code == 0, "\(ended)")
            return ended.output.split(separator: "\n").map { Members(Array($0.utf8)) }
        }
        try await eventually("the log has the error") {
            try await list("--state", "pending").first?.string("error")?.contains("status 500") == true ? true : nil
        }
        second.set(.answers(""))
        let delivered = try await eventually("the second webhook has the pin", within: 60) {
            try await list("--state", "delivered").first
        }
        #expect(delivered.string("event") == "pin" && delivered.string("conversation") == "group:crew")
        #expect(second.posts.allSatisfy { $0.isSigned(by: secret + " 2") })
        let number = try #require(delivered.int("number"))
        let replay = try await RunningServer.command(
            ["admin", "replay", "pins", "--from", String(number), "--server", server.url.absoluteString]
                + ["--data", server.data.path])
        #expect(replay.code == 0 && replay.output.contains("1 event is sent to pins again"), "\(replay)")
        let again = try await eventually("the pin arrives again", within: 60) {
            second.posts.flatMap { $0.json.objects("events") }.first { $0["replayOf"] != nil }
        }
        #expect(again["replayOf"] as? String == delivered.string("delivery"))
        #expect(again["delivery"] as? String != delivered.string("delivery"))
        let wrong = try await RunningServer.command(
            ["admin", "deliveries", "none", "--server", server.url.absoluteString, "--data", server.data.path])
        #expect(wrong.code == 1 && wrong.errors.contains("webhook must be one of after, pins"), "\(wrong)")
        try await server.terminate()
    }

    @Test("A before webhook allows, refuses or replaces, and a setting decides if it hangs, fails or redirects")
    func beforeWebhookDecides() async throws {
        let (server, admin, alice) = try await fixture()
        let receiver = WebhookReceiver(.answers(#"{"action":"allow"}"#))
        try await receiver.start()
        let hook = #""url":"\#(receiver.url)","secret":"\#(secret)","timeoutSeconds":10"#
        try await set(#"{"before":{\#(hook)}}"#, admin)
        try await sendMessage("fine", alice)
        let post = try #require(receiver.posts.first)
        #expect(post.isSigned(by: secret))
        #expect(post.json.string("conversation") == "group:crew" && post.json.string("sender") == "alice")
        receiver.set(.answers(#"{"action":"reject","reason":"be nice"}"#))
        let refused = try await alice.send("no", to: "group:crew")
        #expect(
            refused.status == 422 && refused.code == "content-rejected" && refused.json.string("detail") == "be nice")
        receiver.set(.answers(#"{"action":"replace","content":{"text":"changed"}}"#))
        let replaced = try await alice.send("other", to: "group:crew")
        #expect((replaced.json.all["content"] as? [String: Any])?["text"] as? String == "changed")
        // A redirect is not an answer. The server does not follow it.
        receiver.set(.answers("", status: 307, headers: ["Location": receiver.url]))
        let posts = receiver.posts.count
        try await sendMessage("redirected", alice)
        #expect(receiver.posts.count == posts + 1)
        try await set(#"{"before":{"timeoutSeconds":0.5}}"#, admin)
        receiver.set(.hangs)
        let start = ContinuousClock.now
        try await sendMessage("unasked", alice)
        #expect(ContinuousClock.now - start < .seconds(5))
        receiver.set(.drips)
        let dripped = ContinuousClock.now
        try await sendMessage("dripped", alice)
        #expect(ContinuousClock.now - dripped < .seconds(5))
        // An update without the secret keeps the secret.
        try await set(#"{"before":{"onFailure":"reject"}}"#, admin)
        let closed = try await alice.send("closed", to: "group:crew")
        #expect(closed.status == 503 && closed.code == "overloaded" && closed.headers["retry-after"] == "5")
        try await receiver.stop()
        #expect(try await alice.send("away", to: "group:crew").status == 503)
        try await set(#"{"before":null}"#, admin)
        try await sendMessage("free", alice)
        let page = try await alice.call("GET", "/v1/conversations/group:crew/messages?sort=oldestFirst")
        let texts = page.json.objects("messages").compactMap { ($0["content"] as? [String: Any])?["text"] as? String }
        #expect(texts == ["fine", "changed", "redirected", "unasked", "dripped", "free"])
        try await server.terminate()
    }
}
