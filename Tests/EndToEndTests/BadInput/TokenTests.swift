import Foundation
import ScrollbackModel
import ScrollbackServer
import TestSupport
import Testing

/// Invalid tokens over HTTP and the WebSocket.
@Suite(.serverFixture) struct TokenTests {
    let fixture: ServerFixture

    init() throws {
        fixture = try ServerFixture.shared
    }

    private func part(_ json: String) -> String {
        Data(json.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }

    @Test func `A missing, malformed or foreign token gets invalid-token over HTTP and 4001 over the WebSocket`()
        async throws
    {
        let good = try await fixture.server.token("alice")
        let parts = good.split(separator: ".").map(String.init)
        let other = try TemporaryFolder()
        let foreign = try await TokenService(directory: other.url).token(for: "alice", isAdmin: true, lifetime: nil)
        let claims = #"{"sub":"alice","scopes":["admin"],"iat":1}"#
        let kid = try #require(
            String(data: Data(base64Encoded: pad(parts[0])) ?? Data(), encoding: .utf8).flatMap { header in
                header.firstMatch(of: /"kid":"([^"]+)"/).map { String($0.1) }
            })
        let bad = [
            "", "x", "a.b.c", "...", String(good.dropLast(2)), good + "x", "\(parts[0]).\(parts[1]).",
            "\(parts[0]).\(part(claims)).\(parts[2])", "\(part(#"{"alg":"none","typ":"JWT"}"#)).\(part(claims)).",
            "\(part(#"{"alg":"none","kid":"\#(kid)"}"#)).\(part(claims)).\(parts[2])",
            "\(part(#"{"alg":"HS256","kid":"nobody"}"#)).\(parts[1]).\(parts[2])", foreign,
            String(repeating: "x", count: 10_000),
        ]
        for token in bad {
            let answer = try await API(server: fixture.server.url, token: token).call("GET", "/v1/me")
            #expect(answer.status == 401 && answer.code == "invalid-token", "\(token.prefix(60)): \(answer)")
            #expect(answer.headers["www-authenticate"] == "Bearer")
            #expect(try await close(hello: token) == 4001, "\(token.prefix(60))")
        }
        for header in ["", "Bearer", "Bearer ", "Basic YTpi", good, "Bearer \(good) x", "Token \(good)"] {
            let answer = try await API(server: fixture.server.url).call(
                "GET", "/v1/me", headers: ["Authorization": header])
            #expect(answer.status == 401 && answer.code == "invalid-token", "\(header.prefix(20)): \(answer)")
        }
        let answer = try await API(server: fixture.server.url).call("GET", "/v1/me")
        #expect(answer.status == 401 && answer.code == "invalid-token")
        #expect(
            try await API(server: fixture.server.url).call(
                "GET", "/v1/me", headers: ["Authorization": "bearer \(good)"]
            )
            .status == 200)
    }

    private func pad(_ base64: String) -> String {
        let text = base64.replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }

    private func close(hello token: String) async throws -> Int? {
        let socket = try await TestSocket.open(fixture.server.url)
        socket.send(#"{"type":"hello","token":"\#(token)","device":"d"}"#)
        return try await socket.closed()
    }

    @Test func `An expired token gets token-expired over HTTP and 4003 over the WebSocket, even on an open connection`()
        async throws
    {
        let expired = try await fixture.server.token("alice", lifetime: 60, madeAt: Date(timeIntervalSinceNow: -61))
        let answer = try await API(server: fixture.server.url, token: expired).call("GET", "/v1/me")
        #expect(answer.status == 401 && answer.code == "token-expired", "\(answer)")
        #expect(try await close(hello: expired) == 4003)

        let (token, socket) = try await short()
        #expect(try await socket.closed(within: 180) == 4003)
        #expect(try await API(server: fixture.server.url, token: token).call("GET", "/v1/me").code == "token-expired")
    }

    @Test func `Revoking tokens closes connections with 4010 and refuses the tokens, but not new ones`() async throws {
        let api = try await fixture.server.api("erin")
        let socket = try await TestSocket.signedIn(fixture.server, "erin", token: api.token)
        let other = try await TestSocket.signedIn(fixture.server, "alice")
        #expect(try await api.call("DELETE", "/v1/users/erin/tokens").code == "forbidden")
        #expect(try await fixture.admin.call("DELETE", "/v1/users/erin/tokens").status == 204)
        #expect(try await socket.closed() == 4010)
        let answer = try await api.call("GET", "/v1/me")
        #expect(answer.status == 401 && answer.code == "token-revoked", "\(answer)")
        #expect(try await close(hello: api.token ?? "") == 4001)
        #expect(try await fixture.server.api("erin").call("GET", "/v1/me").status == 200)
        #expect(try await other.request(#""type":"ping""#).string("type") == "result")
    }

    @Test func `A replacement token over the WebSocket must be valid and belong to the same user`() async throws {
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        for (token, code) in [
            ("x", "invalid-token"), (try await fixture.server.token("bob"), "forbidden"),
            (
                try await fixture.server.token("alice", lifetime: 60, madeAt: Date(timeIntervalSinceNow: -61)),
                "token-expired"
            ),
        ] {
            let answer = try await socket.request(#""type":"token","token":"\#(token)""#)
            #expect(answer.string("code") == code)
        }
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
    }

    @Test func `A replacement token keeps the WebSocket open beyond the expiration of the first token`() async throws {
        let (socket, end) = try await refreshed()
        // The server checks expirations every five seconds. Wait until the first check after the old token's
        // expiration.
        try await Task.sleep(for: .seconds(max(0, end.timeIntervalSinceNow) + 5.5))
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
    }

    /// Opens a connection with a token that expires soon.
    ///
    /// On a busy machine, the token can expire before the connection is open. The method then retries with a longer
    /// lifetime.
    private func short(seconds: Int = 15) async throws -> (token: String, TestSocket) {
        let made = try await fixture.admin.call("POST", "/v1/tokens", #"{"user":"alice","expiresIn":\#(seconds)}"#)
        let token = try #require(made.json.string("token"))
        do {
            return (token, try await TestSocket.signedIn(fixture.server, "alice", token: token))
        } catch  where seconds < 100 {
            return try await short(seconds: seconds * 3)
        }
    }

    /// Opens a connection, replaces its token before it expires, and returns the old token's expiration.
    ///
    /// On a busy machine, the token can expire first. The method then retries with a longer lifetime.
    private func refreshed(lifetime: TimeInterval = 15) async throws -> (TestSocket, end: Date) {
        let fresh = try await fixture.server.token("alice")
        let end = Date(timeIntervalSinceNow: lifetime)
        do {
            let short = try await fixture.server.token("alice", lifetime: lifetime)
            let socket = try await TestSocket.signedIn(fixture.server, "alice", token: short)
            #expect(try await socket.request(#""type":"token","token":"\#(fresh)""#).string("type") == "result")
            return (socket, end)
        } catch {
            guard Date() >= end, lifetime < 100 else { throw error }
            return try await refreshed(lifetime: lifetime * 3)
        }
    }

    @Test func `Users who are not administrators can't perform administrator operations`() async throws {
        for (method, path, body) in [
            ("POST", "/v1/tokens", #"{"user":"alice","scopes":["admin"]}"#), ("DELETE", "/v1/users/alice/tokens", nil),
            ("PUT", "/v1/users/bob", "{}"), ("POST", "/v1/conversations/group:crew/import", #"{"messages":[]}"#),
        ] as [(String, String, String?)] {
            let answer = try await fixture.alice.call(method, path, body)
            #expect(answer.status == 403 && answer.code == "forbidden", "\(path): \(answer)")
        }
    }
}
