import Foundation
import ScrollbackModel
import ScrollbackPostgres
import ScrollbackServer
import TestSupport
import Testing

/// `scrollback cluster rotate-secret` while servers run.
@Suite struct SecretRotationTests {
    private func rotate(
        _ server: RunningServer, overlap: Int
    ) async throws -> (code: Int32, output: String, errors: String) {
        try await RunningServer.command([
            "cluster", "rotate-secret", "--overlap", "\(overlap)", "--json", "--server", server.url.absoluteString,
            "--data", server.data.path,
        ])
    }

    private func status(_ token: String, on server: RunningServer) async throws -> Int {
        try await API(server: server.url, token: token).call("GET", "/v1/me").status
    }

    private func adminKey(_ server: RunningServer) throws -> String {
        try String(contentsOf: server.data.appending(component: "admin.key"), encoding: .utf8)
            .trimmingCharacters(in: .newlines)
    }

    /// Waits until the server has replaced the administrator token in `admin.key`, and returns the new one.
    private func newAdminKey(_ server: RunningServer, after old: String) async throws -> String {
        try await eventually("the administrator token is replaced") {
            let key = try adminKey(server)
            return key == old ? nil : key
        }
    }

    private func secrets(_ server: RunningServer) throws -> [String] {
        try SigningKeys.open(in: server.data).keys.map(\.kid)
    }

    /// Requests a token from each server, and counts the requests that a server refuses with it.
    private func exchangeTokens(_ servers: [RunningServer], by key: String) async throws -> Int {
        var refused = 0
        for server in servers {
            let answer = try await API(server: server.url, token: key).call("POST", "/v1/tokens", #"{"user":"bob"}"#)
            let token = try #require(answer.json.string("token"), "\(answer)")
            for other in servers where try await status(token, on: other) != 200 { refused += 1 }
        }
        return refused
    }

    @Test(.needs(.postgres), .needs(.nats))
    func `A rotation on running nodes refuses no new token, and retires the old ones on all nodes`() async throws {
        let database = try PostgresDatabase()
        let url = try database.makeSchema()
        let nats = try await NATSServer.start()
        let options = RunningServer.withoutLimits + ["--store", url.text, "--bus", nats.url]
        let nodes = [try await RunningServer.start(options), try await RunningServer.start(options)]
        let old = try await nodes[0].token("alice")
        let keys = try nodes.map(adminKey)
        let socket = try await TestSocket.signedIn(nodes[1], "alice", token: old)
        async let first = rotate(nodes[0], overlap: 0)
        async let second = rotate(nodes[1], overlap: 0)
        // The old administrator token is valid a few seconds longer than the old secret signs.
        let end = ContinuousClock.now + .seconds(SecretRotator.delay + 4)
        while ContinuousClock.now < end {
            #expect(try await exchangeTokens(nodes, by: keys[0]) == 0)
            try await Task.sleep(for: .milliseconds(200))
        }
        let rotations = [try await first, try await second]
        #expect(rotations.map(\.code).sorted() == [0, 1], "\(rotations)")
        #expect(rotations.contains { $0.errors.contains("secret") && $0.code == 1 }, "\(rotations)")
        for (node, key) in zip(nodes, keys) {
            let newKey = try await newAdminKey(node, after: key)
            #expect(try secrets(node).count == 2)
            #expect(try await exchangeTokens(nodes, by: newKey) == 0)
            try await eventually("the node at \(node.url) refuses the old token") {
                try await status(old, on: node) == 401 ? true : nil
            }
            #expect(try await status(keys[0], on: node) == 401)
        }
        #expect(try secrets(nodes[0]) == secrets(nodes[1]))
        #expect(try await socket.closed() == 4001)
        let audit = try await nodes[0].admin().call("GET", "/v1/audit?action=rotate-secret")
        #expect(audit.json.objects("acts").count == 1, "\(audit)")
        #expect(try await nodes[1].terminate() == 0)
        try await nodes[1].start()
        #expect(try await exchangeTokens(nodes, by: adminKey(nodes[1])) == 0)
        for node in nodes { #expect(try await node.terminate() == 0, "\(node.log)") }
    }

    @Test func `A rotation on a server with SQLite needs no restart, and a valid connection stays open`() async throws {
        let server = try await RunningServer.start()
        let (old, oldKey) = (try await server.token("alice"), try adminKey(server))
        let socket = try await TestSocket.signedIn(server, "alice", token: old)
        let kept = try await rotate(server, overlap: 7)
        #expect(kept.code == 0, "\(kept)")
        let newKey = try await newAdminKey(server, after: oldKey)
        #expect(try await exchangeTokens([server], by: newKey) == 0)
        #expect(try await status(old, on: server) == 200)
        let new = try await server.token("alice")
        let ended = try await rotate(server, overlap: 0)
        #expect(ended.code == 0, "\(ended)")
        try await eventually("the server refuses the token of the second secret") {
            try await status(new, on: server) == 401 ? true : nil
        }
        // The second rotation does not shorten the overlap of the first one.
        #expect(try await status(old, on: server) == 200)
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
    }
}
