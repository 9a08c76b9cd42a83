import Foundation
import ScrollbackModel
import ScrollbackServer
import Testing

/// Requests of pages from other web origins (CORS).
@Suite struct CrossOriginTests {
    private static let app = "https://app.example.org"
    private static let local = "http://127.0.0.1:9000"

    private func preflight(_ api: API, _ path: String, from origin: String) async throws -> Answer {
        try await api.call(
            "OPTIONS", path, headers: ["Origin": origin, "Access-Control-Request-Method": "PATCH"])
    }

    @Test func `A server without allowed origins permits no other origin, and does not check WebSockets`()
        async throws
    {
        let server = try await RunningServer.start()
        let api = try await server.api("alice")
        let answer = try await api.call("GET", "/v1/me", headers: ["Origin": Self.app])
        #expect(answer.status == 200)
        #expect(answer.headers["access-control-allow-origin"] == nil && answer.headers["vary"] == nil, "\(answer)")
        #expect(try await preflight(api, "/v1/me", from: Self.app).status == 405)
        #expect(try await upgrade(server, "Origin: \(Self.app)\r\n").hasPrefix("HTTP/1.1 101"))
    }

    @Test func `Pages of an allowed origin may call every operation and read every answer, errors included`()
        async throws
    {
        let server = try await RunningServer.start(["--allow-origin", Self.app, "--allow-origin", Self.local])
        let api = try await server.api("alice")
        for origin in [Self.app, Self.local] {
            for path in ["/v1/me", "/v1/media", "/v1/uploads/x", "/nothing", "/sdk/scrollback.js"] {
                let asked = try await preflight(api, path, from: origin)
                #expect(asked.status == 204 && asked.bytes.isEmpty, "\(path) \(asked)")
                #expect(asked.headers["access-control-allow-origin"] == origin)
                #expect(asked.headers["access-control-allow-methods"]?.contains("PATCH") == true)
                #expect(asked.headers["access-control-allow-headers"]?.contains("Authorization") == true)
                #expect(asked.headers["access-control-allow-headers"]?.contains("Upload-Offset") == true)
                let answer = try await api.call("GET", path, headers: ["Origin": origin])
                #expect(answer.headers["access-control-allow-origin"] == origin, "\(path) \(answer)")
                #expect(answer.headers["access-control-expose-headers"]?.contains("Upload-Offset") == true)
                // Tokens are not cookies.
                #expect(answer.headers["access-control-allow-credentials"] == nil)
            }
        }
    }

    @Test func `Pages of other origins get no permission, and caches keep the answers apart`() async throws {
        let server = try await RunningServer.start(["--allow-origin", Self.app])
        let api = try await server.api("alice")
        for origin in ["https://evil.example.org", "\(Self.app).evil.org", "\(Self.app):8443", "null", "*", "https:"] {
            let answer = try await api.call("GET", "/v1/me", headers: ["Origin": origin])
            #expect(answer.headers["access-control-allow-origin"] == nil, "\(origin) \(answer)")
            #expect(answer.headers["vary"]?.contains("Origin") == true)
            let asked = try await preflight(api, "/v1/me", from: origin)
            #expect(asked.status == 405 && asked.headers["access-control-allow-origin"] == nil, "\(origin) \(asked)")
        }
        let own = try await api.call("GET", "/v1/me")
        #expect(own.headers["vary"] == "Origin" && own.headers["access-control-allow-origin"] == nil, "\(own)")
    }

    @Test func `A WebSocket opens for allowed origins, the server's own pages, and programs`() async throws {
        let server = try await RunningServer.start(["--allow-origin", Self.app])
        for field in ["Origin: \(Self.app)\r\n", "Origin: http://localhost\r\n", "Origin: https://localhost\r\n", ""] {
            let head = try await upgrade(server, field)
            #expect(head.hasPrefix("HTTP/1.1 101"), "\(field) \(head)")
        }
        for origin in ["https://evil.example.org", "http://localhost:1", "null"] {
            let connection = try await RawConnection(server)
            connection.upgrade("Sec-WebSocket-Protocol: scrollback.v1.json\r\nOrigin: \(origin)\r\n")
            let answer = try await connection.answer()
            #expect(answer.status == 403 && answer.body.contains(origin), "\(answer)")
        }
        let doubled = try await RawConnection(server)
        doubled.upgrade(
            "Sec-WebSocket-Protocol: scrollback.v1.json\r\nOrigin: \(Self.app)\r\nOrigin: https://evil.example.org\r\n")
        #expect(try await doubled.answer().status == 403)
    }

    private func upgrade(_ server: RunningServer, _ field: String) async throws -> String {
        let connection = try await RawConnection(server)
        connection.upgrade("Sec-WebSocket-Protocol: scrollback.v1.json\r\n" + field)
        return try await connection.read(through: "\r\n\r\n")
    }

    @Test(arguments: [
        "*", "null", "", "app.example.org", "https://", "https://app.example.org/", "https://app.example.org/chat",
        "https://APP.example.org", "https://app.example.org:443", "http://app.example.org:80", "ftp://app.example.org",
        "https://alice@app.example.org", "https://*.example.org", "https://app.example.org?x", "https://a b",
    ])
    func `A value that is not an origin is refused`(_ text: String) {
        #expect(throws: ChatError.self) { try AllowedOrigins([text]) }
    }

    @Test func `Origins with a port and IPv6 addresses are accepted`() throws {
        _ = try AllowedOrigins(["http://localhost:3000", "https://app.example.org:8443", "http://[::1]:8080"])
    }

    @Test func `The environment sets allowed origins, and a wrong one stops the start with its name`() async throws {
        let wrong = try await RunningServer.command(["serve", "--allow-origin", "*", "--port", "0"])
        #expect(wrong.code != 0 && wrong.errors.contains("allow-origin"), "\(wrong)")
        let server = try await RunningServer.start(
            [], shell: "export SCROLLBACK_ALLOW_ORIGIN=\(Self.local),\(Self.app)")
        let answer = try await server.api("alice").call("GET", "/v1/me", headers: ["Origin": Self.app])
        #expect(answer.headers["access-control-allow-origin"] == Self.app, "\(answer)")
    }
}
