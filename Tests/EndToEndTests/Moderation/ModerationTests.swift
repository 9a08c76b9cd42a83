import ContractRows
import Foundation
import Scrollback
import TestSupport
import Testing

@Suite("Moderation and rooms over the network")
struct ModerationTests {
    @Test("Typing events reach other users unless a block prevents it", .rows(88))
    func typingAndBlocks() async throws {
        let server = try await RunningServer.start()
        let (alice, bob) = (try await server.api("alice"), try await server.api("bob"))
        #expect(try await alice.send("hi", to: "direct:bob").status == 201)
        let phone = try await TestSocket.signedIn(server, "alice")
        let tablet = try await TestSocket.signedIn(server, "bob")
        _ = try await phone.request(#""type":"typing","conversation":"direct:bob","isTyping":true"#)
        let event = try await tablet.next { $0.string("type") == "typing" }
        #expect(event.string("conversation") == "direct:alice" && event.string("user") == "alice")
        #expect(event.all["isTyping"] as? Bool == true)

        #expect(try await bob.call("PUT", "/v1/blocks/alice", "{}").status == 204)
        #expect(try await bob.call("GET", "/v1/blocks").json.all["users"] as? [String] == ["alice"])
        let refused = try await alice.send("still there?", to: "direct:bob")
        #expect(refused.status == 403 && refused.code == "blocked")
        #expect(
            try await phone.request(#""type":"typing","conversation":"direct:bob","isTyping":false"#).string("code")
                == "blocked")
        #expect(try await bob.call("DELETE", "/v1/blocks/alice").status == 204)
        #expect(try await alice.send("hi again", to: "direct:bob").status == 201)
        #expect(try await bob.call("PUT", "/v1/blocks/bob", "{}").status == 422)
        try await server.terminate()
    }

    @Test("Mutes and frozen conversations prevent sending and appear in heads and lists", .rows(88))
    func mutes() async throws {
        let server = try await RunningServer.start()
        let (admin, alice) = (try await server.admin(), try await server.api("alice"))
        let path = "/v1/conversations/group:crew"
        _ = try await admin.call("PUT", path, #"{"members":["alice","bob"]}"#)
        let until = "2999-01-01T00:00:00.000Z"
        #expect(try await admin.call("PUT", path + "/members/alice", #"{"mutedUntil":"\#(until)"}"#).status == 200)
        let refused = try await alice.send("hi", to: "group:crew")
        #expect(refused.status == 403 && refused.code == "muted" && refused.headers["retry-after"] != nil)
        #expect(try await alice.call("GET", path).json.string("mutedUntil") == until)
        let members = try await alice.call("GET", path + "/members").json.objects("members")
        #expect(members.map { $0["mutedUntil"] as? String } == [until, nil])
        #expect(try await admin.call("PUT", path + "/members/alice", #"{"mutedUntil":"forever"}"#).status == 200)
        #expect(try await alice.call("GET", path).json.string("mutedUntil") == "forever")
        #expect(try await admin.call("PUT", path + "/members/alice", #"{"mutedUntil":null}"#).status == 200)
        #expect(try await alice.send("hi", to: "group:crew").status == 201)
        #expect(try await admin.call("PUT", path, #"{"frozen":true}"#).status == 200)
        #expect(try await alice.send("hi", to: "group:crew").code == "muted")
        #expect(try await alice.call("GET", path).json.all["frozen"] as? Bool == true)
        #expect(try await admin.call("PUT", path + "/members/alice", #"{"mutedUntil":"never"}"#).status == 422)
        try await server.terminate()
    }

    @Test("Banned words are refused or replaced, and the setting survives a restart", .rows(88))
    func bannedWordsAreRefusedOrReplaced() async throws {
        let server = try await RunningServer.start()
        let (admin, alice) = (try await server.admin(), try await server.api("alice"))
        _ = try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#)
        let set = #"{"bannedWords":{"words":["spam","垃圾"],"action":"reject"}}"#
        #expect(try await admin.call("PUT", "/v1/settings", set).status == 200)
        #expect(try await alice.send("SPAM!", to: "group:crew").code == "content-rejected")
        server.kill()
        try await server.start()
        let (admin2, alice2) = (try await server.admin(), try await server.api("alice"))
        #expect(try await alice2.send("这是垃圾吗", to: "group:crew").status == 422)
        _ = try await admin2.call("PUT", "/v1/settings", #"{"bannedWords":{"words":["spam"],"action":"replace"}}"#)
        let masked = try await alice2.send("some Spam", to: "group:crew")
        #expect((masked.json.all["content"] as? [String: Any])?["text"] as? String == "some ****")
        try await server.terminate()
    }

    @Test("A room enforces its capacity and leaves out low-priority messages above its rate")
    func rooms() async throws {
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        #expect(try await admin.call("PUT", "/v1/conversations/room:lobby", #"{"capacity":1}"#).status == 201)
        #expect(try await admin.call("PUT", "/v1/settings", #"{"roomMessagesPerSecond":1}"#).status == 200)
        let inside = try await TestSocket.signedIn(server, "alice")
        let outside = try await TestSocket.signedIn(server, "bob")
        let subscribe = #""type":"subscribe","conversations":["room:lobby"]"#
        #expect(try await inside.request(subscribe).string("type") == "result")
        let refused = try await outside.request(subscribe)
        #expect(refused.string("code") == "room-full" && refused.all["temporary"] as? Bool == true)
        let bob = try await server.api("bob")
        // The messages are sent concurrently. Sent slowly, they would stay below the rate.
        try await withThrowingTaskGroup(of: Int.self) { tasks in
            for _ in 0..<20 {
                tasks.addTask {
                    let id = UUID().uuidString.lowercased()
                    return try await bob.call(
                        "POST", "/v1/conversations/room:lobby/messages",
                        #"{"id":"\#(id)","type":"text","content":{"text":"like"},"priority":"low"}"#
                    ).status
                }
            }
            for try await status in tasks { #expect(status == 201) }
        }
        let head = try await inside.next { $0.string("type") == "head" }
        #expect(head.string("conversation") == "room:lobby")
        #expect(try await server.metric("scrollback_room_messages_left_out_total") > 5)
        let page = try await bob.call("GET", "/v1/conversations/room:lobby/messages")
        #expect(page.json.objects("messages").allSatisfy { $0["priority"] as? String == "low" })
        inside.close()
        _ = try await eventually("the room has capacity") {
            try await outside.request(subscribe).string("type") == "result" ? true : nil
        }
        try await server.terminate()
    }

    @Test(
        "A message that is refused with 429 is still delivered before the messages after it",
        .history(18), .rows(79))
    func throttledMessageKeepsItsOrder() async throws {
        let server = try await RunningServer.start(["--send-rate", "2", "--send-burst", "1"])
        let admin = try await server.admin()
        _ = try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#)
        let client = try await Device.open(server, "alice")
        let chat = client.conversation(.group("crew"))
        for number in 1...6 { try await chat.send(.text("\(number)")) }
        await client.waitForOutbox()
        let page = try await chat.history(.earliest, limit: 100, sort: .oldestFirst, from: .remote)
        #expect(page.messages.compactMap(\.text) == (1...6).map(String.init))
        await client.close()
        try await server.terminate()
    }

    @Test("Edits and reactions over HTTP use the same rate limit as messages", .rows(79))
    func changesAreRateLimited() async throws {
        let server = try await RunningServer.start(["--send-rate", "0.01", "--send-burst", "3"])
        let (admin, alice) = (try await server.admin(), try await server.api("alice"))
        _ = try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#)
        let sent = try await alice.send("hi", to: "group:crew")
        let path = "/v1/conversations/group:crew/messages/\(sent.json.string("id") ?? "")"
        let edit = #"{"type":"text","content":{"text":"new"}}"#
        let action = #"{"type":"reaction","value":"+1"}"#
        #expect(try await alice.call("PATCH", path, edit).status == 200)
        let added = try await alice.call("POST", path + "/actions", action)
        #expect(added.status == 201)
        #expect(try await alice.call("PATCH", path, edit).code == "rate-limited")
        #expect(try await alice.call("POST", path + "/actions", action).status == 429)
        let time = added.json.string("timetoken") ?? ""
        #expect(try await alice.call("DELETE", path + "/actions/\(time)").status == 429)
        try await server.terminate()
    }
}
