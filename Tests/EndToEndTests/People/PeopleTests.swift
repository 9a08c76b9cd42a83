import ContractRows
import Foundation
import Scrollback
import Testing

@Suite("Members and presence over the network")
struct PeopleTests {
    private let crew = "/v1/conversations/group:crew"

    @Test("Read receipts arrive in heads, events and lists, unless the setting is off")
    func receipts() async throws {
        let server = try await RunningServer.start()
        let (admin, alice, bob) = (try await server.admin(), try await server.api("alice"), try await server.api("bob"))
        let sent = try await alice.send("hi", to: "direct:bob")
        let epoch = sent.json.string("epoch") ?? ""
        let phone = try await TestSocket.signedIn(server, "alice")
        let read = try await bob.call(
            "PUT", "/v1/conversations/direct:alice/read", #"{"seq":1,"epoch":"\#(epoch)"}"#)
        #expect(read.status == 200)
        let event = try await phone.next { $0.string("type") == "read" }
        #expect(event.string("user") == "bob" && event.int("readSeq") == 1)
        #expect(try await alice.call("GET", "/v1/conversations/direct:bob").json.int("peerReadSeq") == 1)
        #expect(try await bob.call("GET", "/v1/conversations/direct:alice").json.all["peerReadSeq"] == nil)
        let path = "/v1/conversations/direct:bob/messages/\(sent.json.string("id") ?? "")/readers"
        let readers = try await alice.call("GET", path)
        #expect(readers.json.objects("readers").map { $0["user"] as? String } == ["bob"], "\(readers)")
        // The WebSocket gives the same result as HTTP.
        let frame = try await phone.request(
            #""type":"readers","conversation":"direct:bob","id":"\#(sent.json.string("id") ?? "")""#)
        #expect(frame.objects("readers").map { $0["readSeq"] as? Int } == [1])
        #expect(try await alice.call("GET", path + "?limit=0").status == 422)

        #expect(try await admin.call("PUT", "/v1/settings", #"{"readReceipts":false}"#).status == 200)
        let off = try await alice.call("GET", path)
        #expect(off.status == 403 && off.code == "feature-off")
        server.kill()
        try await server.start()
        let (again, alice2) = (try await server.admin(), try await server.api("alice"))
        #expect(try await again.call("GET", "/v1/settings").json.all["readReceipts"] as? Bool == false)
        #expect(try await alice2.call("GET", path).code == "feature-off")
        _ = try await again.call("PUT", "/v1/settings", #"{"readReceipts":true}"#)
        #expect(try await alice2.call("GET", "/v1/conversations/direct:bob").json.int("peerReadSeq") == 1)
        try await server.terminate()
    }

    @Test("An invited user is notified, can join, and can decline")
    func invitations() async throws {
        let server = try await RunningServer.start()
        let (alice, bob) = (try await server.api("alice"), try await server.api("bob"))
        #expect(try await alice.call("PUT", crew, #"{"name":"Crew"}"#).status == 201)
        let phone = try await TestSocket.signedIn(server, "bob")
        let invited = try await alice.call("PUT", crew + "/invitations/bob", #"{"expiresIn":3600}"#)
        #expect(invited.status == 201 && invited.json.string("expiresAt") != nil, "\(invited)")
        #expect(try await alice.call("PUT", crew + "/invitations/bob", "{}").status == 200)
        let event = try await phone.next { $0.string("type") == "invitation" }
        #expect(event.string("conversation") == "group:crew" && event.string("by") == "alice")
        let mine = try await bob.call("GET", "/v1/invitations").json.objects("invitations")
        #expect(mine.map { $0["name"] as? String } == ["Crew"])
        let theirs = try await alice.call("GET", crew + "/invitations").json.objects("invitations")
        #expect(theirs.map { $0["user"] as? String } == ["bob"])
        #expect(try await bob.call("DELETE", crew + "/invitations/bob").status == 204)
        #expect(try await bob.call("PUT", crew + "/members/bob", "{}").status == 404)
        _ = try await alice.call("PUT", crew + "/invitations/bob", "{}")
        #expect(try await bob.call("PUT", crew + "/members/bob", "{}").status == 201)
        #expect(try await bob.call("GET", crew + "/members").json.objects("members").count == 2)
        #expect(try await bob.call("PUT", crew + "/invitations/carol", "{}").code == "forbidden")
        #expect(try await alice.call("PUT", crew + "/invitations/bob", "{}").code == "conflict")
        #expect(try await alice.call("DELETE", crew + "/invitations/carol").code == "unknown-invitation")
        #expect(try await alice.call("PUT", crew + "/invitations/carol", #"{"expiresIn":5}"#).status == 422)
        try await server.terminate()
    }

    @Test("Presence is sent over WebSockets if the setting is on, and the last-seen time survives a restart")
    func presence() async throws {
        let server = try await RunningServer.start()
        let (admin, alice) = (try await server.admin(), try await server.api("alice"))
        let off = try await alice.call("POST", "/v1/presence/fetch", #"{"users":["bob"]}"#)
        #expect(off.status == 403 && off.code == "feature-off")
        #expect(try await admin.call("PUT", "/v1/settings", #"{"presence":true}"#).status == 200)
        let watcher = try await TestSocket.signedIn(server, "alice")
        let first = try await watcher.request(#""type":"presence","users":["bob"],"on":true"#)
        #expect(first.objects("presence").map { $0["online"] as? Bool } == [false])
        let bob = try await TestSocket.open(server.url)
        bob.send(#"{"type":"hello","token":"\#(try await server.token("bob"))","device":"phone","presence":true}"#)
        let came = try await watcher.next { $0.string("type") == "presence" }
        #expect(came.string("user") == "bob" && came.all["online"] as? Bool == true)
        bob.close()
        let went = try await watcher.next { $0.string("type") == "presence" }
        #expect(went.all["online"] as? Bool == false && went.string("lastSeen")?.hasSuffix(".000Z") == true)
        try await server.terminate()
        try await server.start()
        let answer = try await server.api("alice").call("POST", "/v1/presence/fetch", #"{"users":["bob","carol"]}"#)
        let people = answer.json.objects("presence")
        #expect(people.map { $0["lastSeen"] as? String } == [went.string("lastSeen"), nil], "\(answer)")
        #expect(try await server.api("alice").call("POST", "/v1/presence/fetch", #"{"users":[]}"#).status == 422)
        try await server.terminate()
    }

    @Test("Notices are messages that do not count as unread and are stored together with their change")
    func notices() async throws {
        let server = try await RunningServer.start()
        let (admin, alice, bob) = (try await server.admin(), try await server.api("alice"), try await server.api("bob"))
        #expect(try await admin.call("PUT", "/v1/settings", #"{"notices":true}"#).status == 200)
        _ = try await alice.call("PUT", crew, "{}")
        _ = try await alice.call("PUT", crew + "/members/bob", #"{"role":"moderator"}"#)
        server.kill()
        try await server.start()
        let messages = try await server.api("bob").call("GET", crew + "/messages").json.objects("messages")
        let content = messages.first?["content"] as? [String: Any]
        #expect(messages.count == 1 && content?["event"] as? String == "member-added")
        #expect(content?["user"] as? String == "bob" && content?["text"] as? String == "alice added bob")
        #expect(try await server.api("bob").call("GET", crew).json.int("unread") == 0)
        _ = bob
        try await server.terminate()
    }

    @Test("The command line lists, adds and removes members, and lists readers")
    func commands() async throws {
        let server = try await RunningServer.start()
        let alice = try await server.api("alice")
        _ = try await alice.call("PUT", crew, "{}")
        let connection = ["--server", server.url.absoluteString, "--data", server.data.path]
        func run(_ arguments: [String]) async throws -> (code: Int32, output: String, errors: String) {
            try await RunningServer.command(arguments + connection)
        }
        let members = ["members", "group:crew", "--as", "alice"]
        let added = try await run(members + ["--add", "bob", "--role", "moderator"])
        #expect(added.code == 0 && added.output == "bob is a member of group:crew\n", "\(added)")
        #expect(try await run(members).output == "alice  owner\nbob  moderator\n")
        let lines = try await run(members + ["--json"]).output
        #expect(lines == #"{"user":"alice","role":"owner"}"# + "\n" + #"{"user":"bob","role":"moderator"}"# + "\n")
        let sent = try await alice.send("hi", to: "group:crew")
        _ = try await server.api("bob").call(
            "PUT", crew + "/read", #"{"seq":1,"epoch":"\#(sent.json.string("epoch") ?? "")"}"#)
        let receipts = try await run(["receipts", "group:crew", "seq:1", "--as", "alice"])
        #expect(receipts.code == 0 && receipts.output == "bob  read to 1\n", "\(receipts)")
        let delivered = try await run(["receipts", "group:crew", "seq:1", "--delivered", "--as", "alice"])
        #expect(delivered.code == 0 && delivered.output == "bob  received to 1\n", "\(delivered)")
        let json = try await run(["receipts", "group:crew", "seq:1", "--as", "alice", "--json"])
        #expect(json.output == #"{"user":"bob","readSeq":1}"# + "\n")
        let removed = try await run(members + ["--remove", "bob", "--json"])
        #expect(removed.code == 0 && removed.output.contains(#""member":false"#), "\(removed)")
        for (arguments, code, words) in [
            (members + ["--add", "bob", "--remove", "bob"], 64, "either --add or --remove"),
            (members + ["--role", "owner"], 64, "--role requires --add"),
            (members + ["--add", "bob", "--role", "king"], 64, "member, moderator, owner"),
            (members + ["--remove", "bob"], 1, "(unknown-member)"),
            (["receipts", "group:crew", "seq:9", "--as", "alice"], 1, "(unknown-message)"),
            (["members", "group:crew", "--as", "mallory"], 1, "(unknown-conversation)"),
        ] as [([String], Int32, String)] {
            let refused = try await run(arguments)
            #expect(refused.code == code && refused.errors.contains(words), "\(arguments): \(refused)")
        }
        try await server.terminate()
    }
}
