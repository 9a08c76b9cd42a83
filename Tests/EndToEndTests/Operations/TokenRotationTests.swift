import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite struct TokenRotationTests {
    @Test func `A rotated secret stays valid for its overlap, and a running server applies rotations`()
        async throws
    {
        let server = try await RunningServer.start()
        func status(_ token: String) async throws -> (Int, String?) {
            let answer = try await API(server: server.url, token: token).call("GET", "/v1/me")
            return (answer.status, answer.code)
        }
        func key() throws -> String {
            try String(contentsOf: server.data.appending(component: "admin.key"), encoding: .utf8)
                .trimmingCharacters(in: .newlines)
        }
        func rotate(_ arguments: [String]) async throws -> String {
            let made = try await RunningServer.command(
                ["token", "alice", "--rotate", "--data", server.data.path] + arguments)
            try #require(made.code == 0, "\(made)")
            return made.output.trimmingCharacters(in: .newlines)
        }
        let old = try await server.token("alice")
        let oldKey = try key()
        #expect(try await status(old) == (200, nil))

        let new = try await rotate([])
        #expect(new != old)
        try await eventually("the server uses the new secret") { try await status(new).0 == 200 ? true : nil }
        #expect(try await status(old) == (200, nil))
        #expect(try await status(oldKey) == (200, nil))
        #expect(try await status(key()) == (200, nil))
        let minted = try await API(server: server.url, token: key()).call("POST", "/v1/tokens", #"{"user":"bob"}"#)
        let bob = try #require(minted.json.string("token"))

        let newest = try await rotate(["--overlap", "0"])
        try await eventually("the server uses the newest secret") {
            try await status(newest).0 == 200 ? true : nil
        }
        for ended in [new, bob] { #expect(try await status(ended) == (401, "invalid-token")) }
        // The first rotation gave this secret an overlap of 30 days, which the second rotation does not shorten.
        #expect(try await status(old) == (200, nil))
        #expect(try await status(key()) == (200, nil))
        let socket = try await TestSocket.open(server.url)
        socket.send(#"{"type":"hello","token":"\#(new)","device":"d"}"#)
        #expect(try await socket.closed() == 4001)

        #expect(try await server.terminate() == 0)
        try await server.start()
        #expect(try await status(newest) == (200, nil))
        #expect(try await status(new) == (401, "invalid-token"))
        let mode =
            try FileManager.default.attributesOfItem(
                atPath: server.data.appending(component: "secrets.json").path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }
}
