import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

@Suite("Incoming webhooks over the network")
struct IncomingWebhookServerTests {
    private struct Fixture {
        let server: RunningServer
        let admin: API
        /// The client of a program that knows only the URL.
        let program: API
        let url: String

        func post(
            _ body: String, to url: String? = nil, type: String? = "application/json"
        ) async throws -> Answer {
            try await program.call("POST", url ?? self.url, body, type: type)
        }

        func command(_ arguments: String...) async throws -> (code: Int32, output: String, errors: String) {
            let target = ["--server", server.url.absoluteString, "--data", server.data.path]
            return try await RunningServer.command(["admin", "hooks"] + arguments + target)
        }
    }

    private static let hook = "/v1/admin/hooks/alerts"

    private func fixture(_ arguments: [String] = RunningServer.withoutLimits) async throws -> Fixture {
        let server = try await RunningServer.start(arguments)
        let admin = try await server.admin()
        let made = try await admin.call("PUT", "/v1/conversations/group:ops", #"{"members":["bot","alice"]}"#)
        #expect(made.status == 201)
        let answer = try await admin.call("PUT", Self.hook, #"{"conversation":"group:ops","user":"bot"}"#)
        #expect(answer.status == 201, "\(answer)")
        return Fixture(
            server: server, admin: admin, program: API(server: server.url),
            url: try #require(answer.json.string("url")))
    }

    @Test("A post arrives at a connected client as a message of the webhook's user")
    func delivery() async throws {
        let fixture = try await fixture()
        let alice = try await Device.open(fixture.server, "alice")
        let group = alice.conversation(.group("ops"))
        let arrived = Mutex<Message?>(nil)
        let watching = Task {
            for await view in group.timeline().views {
                for case .message(let message) in view.items { arrived.withLock { $0 = message } }
            }
        }
        defer { watching.cancel() }
        try await eventually("alice is connected") {
            try await fixture.server.metric("scrollback_connections") == 1 ? true : nil
        }
        let answer = try await fixture.post(#"{"text":"<https://ci.test/7|build 7> failed &amp; <!here>"}"#)
        #expect(answer.status == 200 && answer.text == "ok", "\(answer)")
        #expect(answer.headers["content-type"]?.hasPrefix("text/plain") == true)
        let message = try await eventually("the message arrives") { arrived.withLock { $0 } }
        #expect(message.text == "build 7 (https://ci.test/7) failed & @here")
        #expect(message.sender == "bot" && message.attributes.mentions == nil)
        await alice.close()
        try await fixture.server.terminate()
    }

    @Test("A form with the field payload is accepted, and so is JSON that curl declares as a form")
    func forms() async throws {
        let fixture = try await fixture()
        let form = "application/x-www-form-urlencoded"
        let encoded = "payload=%7B%22text%22%3A%22a+%26%20b%22%7D"
        #expect(try await fixture.post(encoded, type: form).text == "ok")
        #expect(try await fixture.post(#"{"text":"c&d=e"}"#, type: form).text == "ok")
        #expect(try await fixture.post("\n" + #" {"text":"e"}"#, type: form).text == "ok")
        #expect(try await fixture.post(#"{"text":"f"}"#, type: nil).text == "ok")
        let others = String(repeating: "a=%25&", count: 60_000)
        #expect(try await fixture.post(others + "payload=%7B%22text%22%3A%22g%22%7D", type: form).text == "ok")
        for body in ["text=hi", "payload=hi", "payload=%7B%7D&payload=%7B%7D", "payload=%ff"] {
            let answer = try await fixture.post(body, type: form)
            #expect(answer.status == 400 && answer.text == "invalid_payload", "\(body): \(answer)")
        }
        let texts = try await Device.everything(in: .group("ops"), of: fixture.server).compactMap(\.text)
        #expect(texts == ["a & b", "c&d=e", "e", "f", "g"])
        try await fixture.server.terminate()
    }

    @Test("Refused posts get Slack's codes and store nothing")
    func refusals() async throws {
        let fixture = try await fixture()
        let wrong = String(fixture.url.dropLast()) + (fixture.url.hasSuffix("A") ? "B" : "A")
        for (url, body, status, word) in [
            (fixture.url, "{", 400, "invalid_payload"), (fixture.url, "{}", 400, "no_text"),
            (fixture.url, #"{"text":7,"blocks":{}}"#, 400, "invalid_payload"),
            (fixture.url, #"{"text":"\#(String(repeating: "x", count: 131_072))"}"#, 400, "msg_too_long"),
            (wrong, #"{"text":"hi"}"#, 403, "invalid_token"),
            ("/v1/hooks/other.\(fixture.url.split(separator: ".")[1])", #"{"text":"hi"}"#, 404, "no_service"),
            ("/v1/hooks/%20", #"{"text":"hi"}"#, 404, "no_service"),
        ] {
            let answer = try await fixture.post(body, to: url)
            #expect(answer.status == status && answer.text == word, "\(url) \(body.prefix(40)): \(answer)")
        }
        let large = #"{"text":"\#(String(repeating: "x", count: 600_000))"}"#
        #expect(try await fixture.post(large).status == 413)
        #expect(try await fixture.program.call("GET", fixture.url).status == 405)
        #expect(try await Device.everything(in: .group("ops"), of: fixture.server).isEmpty)
        try await fixture.server.terminate()
    }

    @Test("A user who may not send, a replaced secret and a deletion end the use of a URL")
    func ends() async throws {
        let fixture = try await fixture()
        let (admin, text) = (fixture.admin, #"{"text":"hi"}"#)
        func post(_ url: String? = nil) async throws -> String {
            let answer = try await fixture.post(text, to: url)
            return "\(answer.status) \(answer.text) \(answer.headers["scrollback-error"] ?? "-")"
        }
        let state = "/v1/users/bot/state"
        #expect(try await admin.call("PUT", state, #"{"state":"deactivated"}"#).status == 200)
        #expect(try await post() == "403 action_prohibited user-deactivated")
        #expect(try await admin.call("PUT", state, #"{"state":"active"}"#).status == 200)
        #expect(try await admin.call("PUT", "/v1/bans/bot", "{}").status == 204)
        #expect(try await post() == "403 action_prohibited banned")
        #expect(try await admin.call("DELETE", "/v1/bans/bot").status == 204)
        let group = "/v1/conversations/group:ops"
        #expect(try await admin.call("PUT", group, #"{"frozen":true}"#).status == 200)
        #expect(try await post() == "403 action_prohibited muted")
        #expect(try await admin.call("PUT", group, #"{"frozen":false}"#).status == 200)
        let words = #"{"bannedWords":{"words":["hi"],"action":"reject"}}"#
        #expect(try await admin.call("PUT", "/v1/settings", words).status == 200)
        #expect(try await post() == "403 action_prohibited content-rejected")
        #expect(try await admin.call("PUT", "/v1/settings", #"{"bannedWords":null}"#).status == 200)
        #expect(try await post() == "200 ok -")
        #expect(try await admin.call("DELETE", group + "/members/bot").status == 204)
        #expect(try await post() == "403 action_prohibited not-member")
        #expect(try await admin.call("PUT", group + "/members/bot", "{}").status < 300)
        let replaced = try await admin.call("POST", Self.hook + "/secret")
        #expect(try await post() == "403 invalid_token -")
        let url = try #require(replaced.json.string("url"))
        #expect(try await post(url) == "200 ok -")
        #expect(try await admin.call("DELETE", group).status == 204)
        #expect(try await post(url) == "404 no_service -")
        try await fixture.server.terminate()
    }

    @Test("A post whose body arrives after the secret was replaced is refused")
    func slowBody() async throws {
        let fixture = try await fixture()
        let connection = try await RawConnection(fixture.server)
        let body = #"{"text":"late"}"#
        connection.write(
            "POST \(fixture.url) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n{")
        // The server looks up the URL when the head has arrived.
        try await Task.sleep(for: .milliseconds(500))
        #expect(try await fixture.post(#"{"text":"in time"}"#).text == "ok")
        #expect(try await fixture.admin.call("POST", Self.hook + "/secret").status == 200)
        connection.write(String(body.dropFirst()))
        let answer = try await connection.answer()
        #expect(answer.status == 403 && answer.body == "invalid_token", "\(answer)")
        #expect(try await Device.everything(in: .group("ops"), of: fixture.server).compactMap(\.text) == ["in time"])
        try await fixture.server.terminate()
    }

    @Test("The rate of posts through a webhook and the rate of wrong URLs from an address are limited")
    func rates() async throws {
        let fixture = try await fixture(["--send-rate", "0.001", "--send-burst", "3"])
        func answers(_ count: Int, to url: String?) async throws -> [Answer] {
            var answers: [Answer] = []
            for _ in 0..<count { answers.append(try await fixture.post(#"{"text":"hi"}"#, to: url)) }
            return answers
        }
        let wrong = try await answers(8, to: "/v1/hooks/alerts.x")
        #expect(wrong.first?.text == "invalid_token" && wrong.contains { $0.text == "rate_limited" }, "\(wrong)")
        // The limit of wrong URLs does not concern right ones.
        let right = try await answers(8, to: nil)
        #expect(right.prefix(3).allSatisfy { $0.text == "ok" }, "\(right)")
        let refused = try #require(right.first { $0.status == 429 }, "\(right)")
        #expect(refused.text == "rate_limited" && refused.headers["retry-after"] != nil, "\(refused)")
        // Members have rates of their own.
        #expect(try await fixture.server.api("bot").send("mine", to: "group:ops").status == 201)
        try await fixture.server.terminate()
    }

    @Test("The command line creates, lists, changes and deletes webhooks, which survive a restart")
    func commands() async throws {
        let fixture = try await fixture()
        let made = try await fixture.command("create", "deploys", "group:ops", "--user", "alice")
        let url = made.output.trimmingCharacters(in: .newlines)
        #expect(made.code == 0 && url.hasPrefix("\(fixture.server.url.absoluteString)/v1/hooks/deploys."), "\(made)")
        let path = url.replacing(fixture.server.url.absoluteString, with: "")
        #expect(try await fixture.post(#"{"text":"by command"}"#, to: path).text == "ok")
        let changed = try await fixture.command("create", "deploys", "group:ops", "--user", "bot", "--json")
        #expect(changed.output == #"{"hook":"deploys"}"# + "\n", "\(changed)")
        let list = try await fixture.command("list")
        let lines = list.output.split(separator: "\n")
        #expect(lines.count == 2 && lines.last?.hasPrefix("deploys  group:ops  as bot  ") == true, "\(list)")
        #expect(!list.output.contains(url.split(separator: ".").last ?? "-"))
        #expect(try await fixture.command("list", "--user", "alice").output == "")
        let stranger = try await fixture.command("create", "x", "group:ops", "--user", "mallory")
        #expect(stranger.code == 1 && stranger.errors.contains("Add the user as a member first"), "\(stranger)")
        fixture.server.kill()
        try await fixture.server.start()
        #expect(try await fixture.post(#"{"text":"after the restart"}"#, to: path).text == "ok")
        let replaced = try await fixture.command("replace-secret", "deploys")
        #expect(replaced.code == 0 && replaced.output.contains("/v1/hooks/deploys.") && !replaced.output.contains(url))
        #expect(try await fixture.command("delete", "deploys").output == "deploys is deleted\n")
        #expect(try await fixture.command("list").output.split(separator: "\n").count == 1)
        let acts = try await fixture.admin.call("GET", "/v1/audit?action=put-hook").json.objects("acts")
        #expect(acts.map { $0["detail"] as? String } == ["deploys", "deploys", "alerts"])
        try await fixture.server.terminate()
    }
}
