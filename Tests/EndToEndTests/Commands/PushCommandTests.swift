import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

/// The push commands, by which operators check the connection to the push services.
@Suite("The push command", .timeLimit(.minutes(5)))
struct PushCommandTests {
    /// The result of a command.
    private struct Ended: Equatable {
        var code: Int32
        var output: String
        var errors: String

        init(_ code: Int32, _ output: String, errors: String = "") {
            (self.code, self.output, self.errors) = (code, output, errors)
        }

        /// Parses the output of `--json`, which has one object on each line.
        func objects() throws -> [[String: String]] {
            try output.split(separator: "\n").map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String], "\(line)")
            }
        }
    }

    private func run(_ push: PushServer, _ arguments: String...) async throws -> Ended {
        let connection = ["--server", push.server.url.absoluteString, "--data", push.server.data.path]
        let (code, output, errors) = try await RunningServer.command(["push"] + arguments + connection)
        return Ended(code, output, errors: errors)
    }

    @Test(
        "A test push reaches one or all devices, even of an online user, and prints a line or an object for each",
        .needs(.standIns))
    func testPushReachesDevices() async throws {
        let standIn = try await PushStandIn.start("apns")
        let push = try await PushServer.start(["apns": standIn])
        let devices = try await standIn.devices(2)
        for (name, device) in zip(["phone", "tablet"], devices) {
            try await push.register("alice", "apns", device, name: name)
        }
        let tokens = devices.map { $0["token"] as? String }
        // The server sends no regular pushes to a user who has the app open.
        let device = try await Device.open(push.server, "alice")
        for await state in device.connection where state == .online { break }
        let one = try await run(push, "test", "alice", "--device", "phone")
        #expect(one == Ended(0, "phone  apns  sent\n"), "\(one)")
        #expect(try await standIn.received().map { $0["token"] as? String } == [tokens[0]])
        let all = try await run(push, "test", "alice", "--json")
        #expect(all.code == 0 && all.errors.isEmpty, "\(all)")
        #expect(
            try all.objects() == [
                ["device": "phone", "service": "apns", "outcome": "sent"],
                ["device": "tablet", "service": "apns", "outcome": "sent"],
            ])
        let received = try await standIn.received()
        #expect(received.map { $0["token"] as? String } == [tokens[0]] + tokens)
        let aps = (received.last?["payload"] as? [String: Any])?["aps"] as? [String: Any]
        let alert = aps?["alert"] as? [String: String]
        #expect(alert == ["title": "Scrollback", "body": "This is a test push."])
        #expect(try await standIn.refused() == [])

        let listed = try await run(push, "devices", "--as", "alice")
        #expect(listed == Ended(0, "phone  apns\ntablet  apns\n"), "\(listed)")
        await device.close()
        try await push.server.terminate()
    }

    @Test("A test push that fails or has no device exits with 1 and prints the reason", .needs(.standIns))
    func failedTestPushExitsWithOne() async throws {
        let standIn = try await PushStandIn.start("apns")
        let push = try await PushServer.start(["apns": standIn])
        let devices = try await standIn.devices(3)
        try await push.register("alice", "apns", devices[0])
        let other = devices[1].merging(["topic": "com.example.other"]) { $1 }
        try await push.register("alice", "apns", other, name: "watch")
        try await push.register("bob", "apns", devices[2])

        // A single refusal makes the command fail, even if another push succeeds.
        let refused = try await run(push, "test", "alice")
        #expect(refused == Ended(1, "phone  apns  sent\nwatch  apns  refused: TopicDisallowed\n"), "\(refused)")
        let result = try await run(push, "test", "alice", "--device", "watch", "--json")
        #expect(result.code == 1 && result.errors.isEmpty, "\(result)")
        #expect(
            try result.objects() == [
                ["device": "watch", "service": "apns", "outcome": "refused", "reason": "TopicDisallowed"]
            ])
        try await standIn.fail(next: [["kind": "status", "status": 503]])
        let later = try await run(push, "test", "bob")
        #expect(later == Ended(1, "phone  apns  later: ServiceUnavailable\n"), "\(later)")
        try await standIn.order("/devices/dead", ["tokens": [devices[2]["token"] ?? ""]])
        let gone = try await run(push, "test", "bob")
        #expect(gone == Ended(1, "phone  apns  gone: the service no longer knows the device\n"), "\(gone)")

        // The command sends no push and prints only the error.
        let count = try await standIn.received().count
        let unknown = try await run(push, "test", "alice", "--device", "nobody", "--json")
        #expect(unknown.code == 1 && unknown.output.isEmpty, "\(unknown)")
        #expect(unknown.errors.contains("alice has no device with the ID nobody"), "\(unknown)")
        let none = try await run(push, "test", "carol", "--json")
        #expect(none.code == 1 && none.output.isEmpty, "\(none)")
        #expect(none.errors.contains("carol has no device; apps register devices"), "\(none)")
        try await push.set(["services": ["apns": NSNull()]])
        let unset = try await run(push, "test", "alice", "--device", "phone")
        let reason = "The push service is not configured. Set push.services.apns with PUT /v1/settings."
        #expect(unset == Ended(1, "phone  apns  refused: \(reason)\n"), "\(unset)")
        #expect(try await standIn.received().count == count)
        try await push.server.terminate()
    }
}
