import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite struct LogPrivacyTests {
    @Test func `Logs contain neither message content nor tokens, at any level`() async throws {
        let server = try await RunningServer.start(["--log-level", "trace", "--send-rate", "5", "--send-burst", "5"])
        let secret = "sesame-\(UUID().uuidString)"
        let api = try await server.api("alice")
        let token = try #require(api.token)
        let body =
            #"{"id":"\#(UUID())","type":"text","content":{"text":"\#(secret)"},"metadata":{"x":"\#(secret)"},"#
            + #""extra":"\#(secret)","customType":"\#(secret)","push":{"title":"\#(secret)"},"#
            + #""mentions":{"everyone":true,"pushText":"\#(secret)"}}"#
        let path = "/v1/conversations/direct:bob/messages"
        #expect(try await api.call("POST", path, body).status == 201)
        // Content most likely gets into logs with errors.
        for broken in [
            body + "x", String(body.dropLast()), body.replacing(#""text","#, with: #""\#(secret) ","#), "\"\(secret)",
        ] {
            #expect(try await api.call("POST", path, broken).status >= 400)
        }
        #expect(
            try await api.call("PUT", "/v1/users/alice", #"{"name":"\#(secret)","metadata":{"x":"\#(secret)"}}"#).status
                == 200)
        for _ in 0..<8 { _ = try await api.send(secret, to: "direct:bob") }
        _ = try await api.call("GET", path + "?before=\(secret)")
        let forged = String(token.dropLast(4)) + "AAAA"
        for bad in [forged, secret] { _ = try await API(server: server.url, token: bad).call("GET", "/v1/me") }

        let admin = try await server.admin()
        let hook = try await admin.call(
            "PUT", "/v1/admin/hooks/alerts", #"{"conversation":"direct:bob","user":"alice"}"#)
        let url = try #require(hook.json.string("url"))
        for (path, body) in [
            (url, #"{"text":"\#(secret)"}"#), (url, secret), ("\(url)x", "{}"), ("/v1/hooks/\(secret)", "{}"),
        ] {
            _ = try await API(server: server.url).call("POST", path, body)
        }

        let socket = try await TestSocket.signedIn(server, "bob", token: try await server.token("bob"))
        _ = try await socket.request(#""type":"send","conversation":"direct:alice","message":\#(API.message(secret))"#)
        socket.send("\"\(secret)")
        socket.send(#"{"type":"\#(secret)","ref":1}"#)
        _ = try await socket.request(#""type":"token","token":"\#(forged)""#)
        let bad = try await TestSocket.open(server.url)
        bad.send(#"{"type":"hello","token":"\#(forged)","device":"\#(secret)"}"#)
        _ = try await bad.closed()
        let raw = try await RawConnection(server)
        raw.write("GET /v1/me?\(secret) HTTP/1.1\r\nAuthorization: Bearer \(token)\r\n\(secret)\r\n\r\n")
        try await eventually("the connection is closed") { raw.isClosed ? true : nil }
        #expect(try await server.terminate() == 0)

        let log = server.log
        #expect(log.contains(" trace ") && log.contains(" debug "), "The log level was not applied.")
        for word in [secret, token, forged, String(token.suffix(20)), "Bearer", String(url.suffix(43))] {
            #expect(!log.contains(word), "The log contains \(word.prefix(12))…")
        }
    }

    @Test func `Metrics contain no user IDs`() async throws {
        let server = try await RunningServer.start()
        let name = "somebody-\(UUID().uuidString.lowercased())"
        let api = try await server.api(UserID(name))
        #expect(try await api.call("PUT", "/v1/users/\(name)", #"{"name":"\#(name)"}"#).status == 200)
        #expect(try await api.send("\(name)", to: "direct:\(name)").status == 201)
        let socket = try await TestSocket.signedIn(server, UserID(name), device: name)
        let metrics = try await server.admin().call("GET", "/metrics")
        #expect(metrics.status == 200 && metrics.text.contains("scrollback_connections 1\n"), "\(metrics)")
        #expect(!metrics.text.contains("somebody"))
        #expect(!metrics.text.lowercased().contains(name.suffix(12)))
        socket.close()
    }
}
