import Foundation
import ScrollbackModel
import Testing

@Suite("Administration on the real server")
struct AdministrationTests {
    private func fixture() async throws -> (server: RunningServer, admin: API, alice: API, bob: API) {
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        let made = try await admin.call(
            "PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob","mallory"]}"#)
        try #require(made.status == 201)
        return (server, admin, try await server.api("alice"), try await server.api("bob"))
    }

    @Test("Deactivated and banned users are refused over HTTP and the WebSocket with a code for the reason")
    func deactivatedAndBannedUsersAreRefused() async throws {
        let (server, admin, _, _) = try await fixture()
        let mallory = try await server.api("mallory")
        try #require(await mallory.call("GET", "/v1/me").status == 200)
        let banned = try await admin.call("PUT", "/v1/bans/mallory", #"{"expiresIn":3600,"reason":"坏话"}"#)
        #expect(banned.status == 204)
        let refused = try await mallory.call("GET", "/v1/me")
        #expect(refused.status == 403 && refused.code == "banned" && refused.json.string("reason") == "坏话")
        #expect(refused.json.string("until") != nil && refused.headers["retry-after"] != nil)
        let socket = try await TestSocket.open(server.url)
        socket.send(#"{"type":"hello","token":"\#(mallory.token ?? "")","device":"d"}"#)
        #expect(try await socket.closed() == 4010)
        // The server issues no token for the user.
        let token = try await admin.call("POST", "/v1/tokens", #"{"user":"mallory"}"#)
        #expect(token.status == 403 && token.code == "banned")
        #expect(try await admin.call("GET", "/v1/bans").json.objects("bans").first?["user"] as? String == "mallory")
        #expect(try await admin.call("DELETE", "/v1/bans/mallory").status == 204)
        #expect(try await mallory.call("GET", "/v1/me").status == 200)
        let state = try await admin.call("PUT", "/v1/users/mallory/state", #"{"state":"deactivated"}"#)
        #expect(state.status == 200)
        #expect(try await mallory.call("GET", "/v1/me").code == "user-deactivated")
        let list = try await admin.call("GET", "/v1/admin/users?state=deactivated&prefix=mal")
        #expect(list.json.objects("users").count == 1)
        #expect(try await admin.call("PUT", "/v1/users/mallory/state", #"{"state":"active"}"#).status == 200)
        #expect(try await mallory.call("GET", "/v1/me").status == 200)
        for path in [
            "/v1/admin/users", "/v1/admin/conversations", "/v1/admin/connections", "/v1/bans", "/v1/reports",
            "/v1/webhooks/after/deliveries", "/v1/audit", "/v1/admin/hooks",
        ] {
            #expect(try await mallory.call("GET", path).status == 403, "\(path)")
        }
        try await server.terminate()
    }

    @Test("The audit log has the record of a token before the token is given out")
    func tokenIsRecorded() async throws {
        let (server, admin, _, _) = try await fixture()
        for index in 0..<20 {
            let token = try await admin.call("POST", "/v1/tokens", #"{"user":"user\#(index)"}"#)
            try #require(token.json.string("token") != nil)
            let acts = try await admin.call("GET", "/v1/audit?action=issue-token&limit=1").json.objects("acts")
            try #require(acts.first?["user"] as? String == "user\(index)")
        }
        try await server.terminate()
    }

    @Test("Lists, bans and reports work over HTTP and from the command line")
    func lists() async throws {
        let (server, admin, alice, bob) = try await fixture()
        let id = UUID()
        try #require(await alice.send("bad words", to: "group:crew", id: id).status == 201)
        let message = "/v1/conversations/group:crew/messages/\(id.uuidString.lowercased())"
        let reported = try await bob.call("POST", message + "/reports", #"{"reason":"spam","text":"look"}"#)
        #expect(reported.status == 201 && reported.json.int("number") == 1)
        #expect(try await bob.call("POST", message + "/reports", #"{"reason":"app:x"}"#).status == 200)
        for body in ["{}", #"{"reason":""}"#, #"{"reason":"\#(String(repeating: "x", count: 65))"}"#] {
            #expect(try await bob.call("POST", message + "/reports", body).json.string("parameter") == "reason")
        }
        #expect(try await alice.call("DELETE", message).status == 200)
        let report = try await admin.call("GET", "/v1/reports/1")
        #expect(report.text.contains("bad words") && report.json.string("reason") == "app:x")
        let connection = ["--server", server.url.absoluteString, "--data", server.data.path]
        func run(_ arguments: String...) async throws -> (code: Int32, output: String, errors: String) {
            try await RunningServer.command(["admin"] + arguments + connection)
        }
        #expect(try await run("reports").output.contains("1 open  group:crew  app:x"))
        // A line break in a report does not start a new line of output.
        let forged = #"{"reason":"spam","text":"look\n2 open  group:crew  root: all is well"}"#
        #expect(try await bob.call("POST", message + "/reports", forged).status == 200)
        #expect(try await run("reports").output.split(separator: "\n").count == 1)
        #expect(try await run("close", "1", "--note", "warned").code == 0)
        #expect(try await admin.call("GET", "/v1/reports?state=open").json.objects("reports").isEmpty)
        let users = try await run("users", "--json")
        #expect(users.output.split(separator: "\n").count == 3, "\(users)")
        #expect(try await run("conversations", "--kind", "group").output.hasPrefix("group:crew"))
        #expect(try await run("conversations", "--user", "bob").output.contains("member"))
        #expect(try await run("ban", "bob", "--in", "group:crew", "--for", "1h", "--reason", "spam").code == 0)
        #expect(try await bob.send("hi", to: "group:crew").code == "banned")
        #expect(try await run("bans", "--in", "group:crew").output.contains("bob  until "))
        #expect(try await run("unban", "bob", "--in", "group:crew").code == 0)
        for duration in ["soon", "1e400d", "1e308d", "infd", "-1d"] {
            #expect(try await run("ban", "bob", "--for=\(duration)").code == 64, "\(duration)")
        }
        #expect(try await run("connections").code == 0)
        #expect(try await run("disconnect", "bob").output == "closed 0 connections\n")
        // A command that can't be undone requires a confirmation.
        let asked = try await run("erase", "bob", "--messages", "erase")
        #expect(asked.code == 1 && asked.errors.contains("--yes is required to erase bob"), "\(asked)")
        #expect(try await bob.call("GET", "/v1/me").status == 200)
        try await server.terminate()
    }

    @Test("An export has a record per line and an end record, and only the user and administrators can get it")
    func export() async throws {
        let (server, admin, alice, bob) = try await fixture()
        for number in 0..<250 { try #require(await alice.send("word \(number)", to: "group:crew").status == 201) }
        let file = try await alice.call(
            "POST", "/v1/media?conversation=group:crew&name=a.txt", bytes: Array("hello".utf8), type: "text/plain")
        try #require(file.status == 201, "\(file)")
        // JSON that is stored byte for byte can have line breaks as white space.
        let profile = try await alice.call("PUT", "/v1/users/alice", "{\"metadata\":{\n\"a\":\n1\n}}")
        try #require(profile.status == 200, "\(profile)")
        let own = try await alice.call("GET", "/v1/users/alice/export")
        #expect(own.headers["content-type"] == "application/x-ndjson")
        let lines = own.text.split(separator: "\n").map { Members(Array($0.utf8)) }
        #expect(lines.count(where: { $0.string("record") == "message" }) == 250)
        #expect(lines.first?.string("record") == "profile")
        #expect(lines.last?.string("record") == "end" && lines.last?.int("records") == lines.count - 1)
        let link = try #require(lines.first { $0.string("record") == "file" }?.string("url"))
        #expect(try await API(server: server.url).call("GET", link).text == "hello")
        #expect(try await bob.call("GET", "/v1/users/alice/export").status == 403)
        #expect(try await admin.call("GET", "/v1/users/alice/export").text.split(separator: "\n").count == lines.count)
        let printed = try await RunningServer.command(
            ["export", "--user", "alice", "--server", server.url.absoluteString, "--data", server.data.path])
        #expect(printed.code == 0 && printed.output.split(separator: "\n").count == lines.count)
        try await server.terminate()
    }
}
