import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// The tokens with which the chat page of a demonstration signs in its users.
@Suite struct DemoSessionTests {
    private static let path = "/chat/demo.json"

    @Test func `A demonstration signs in alice and bob, who are no administrators`() async throws {
        let server = try await RunningServer.start(["--demo"])
        let answer = try await server.api("mei").call("GET", Self.path)
        #expect(answer.status == 200 && answer.headers["cache-control"] == "no-store", "\(answer)")
        struct Sessions: Decodable {
            struct Session: Decodable {
                let user: String
                let token: String
            }
            let users: [Session]
        }
        let sessions = try JSONDecoder().decode(Sessions.self, from: Data(answer.bytes)).users
        #expect(sessions.map(\.user) == ["alice", "bob"])
        for session in sessions {
            let api = API(server: server.url, token: session.token)
            let me = try await api.call("GET", "/v1/me")
            #expect(me.status == 200 && me.text.contains("\"\(session.user)\""), "\(me)")
            #expect(try await api.call("GET", "/v1/settings").status == 403)
        }
    }

    @Test(arguments: [
        "Host: chat.example.org", "Host: 127.0.0.1.example.org", "Host: localhost\r\nOrigin: http://localhost:8000",
        "Host: localhost\r\nX-Forwarded-For: 192.0.2.1", "Host: localhost\r\nForwarded: for=192.0.2.1",
    ])
    func `Pages of other origins and clients behind a proxy get no demo tokens`(_ fields: String) async throws {
        let server = try await RunningServer.start(["--demo", "--allow-origin", "http://localhost:8000"])
        let connection = try await RawConnection(server)
        connection.write(Array("GET \(Self.path) HTTP/1.1\r\n\(fields)\r\n\r\n".utf8))
        let answer = try await connection.read(through: "\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 403"), "\(answer)")
    }

    @Test(arguments: [[], ["--demo", "--host", "0.0.0.0"]])
    func `A server that is no demonstration, or that other computers reach, makes no demo tokens`(
        _ arguments: [String]
    ) async throws {
        let server = try await RunningServer.start(arguments)
        #expect(try await server.api("alice").call("GET", Self.path).status == 404)
    }
}
