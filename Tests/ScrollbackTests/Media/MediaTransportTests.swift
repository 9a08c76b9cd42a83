import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import Testing

/// Tests how the client handles HTTP answers of servers and proxies. No server is involved.
@Suite("File transfers over HTTP")
struct MediaTransportTests {
    private final class Script: HTTPTransport {
        private let asked = Mutex<[HTTPExchange]>([])
        private let answers: Mutex<[HTTPExchange.Answer]>

        init(_ answers: HTTPExchange.Answer...) {
            self.answers = Mutex(answers)
        }

        var addresses: [String] { asked.withLock { $0.map(\.url.absoluteString) } }
        var requests: [HTTPExchange] { asked.withLock { $0 } }

        func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer {
            asked.withLock { $0.append(exchange) }
            return answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
    }

    private let media = MediaID()

    private func transport(_ script: Script, _ server: String = "https://chat.example.com") throws -> HTTPMediaTransport
    {
        HTTPMediaTransport(server: try #require(URL(string: server)), http: script)
    }

    private func part(_ range: String) -> HTTPExchange.Answer {
        HTTPExchange.Answer(status: 206, headers: ["content-range": range], body: Data([1, 2]))
    }

    private let problem = ["content-type": "application/problem+json"]

    @Test(
        "An answer with another byte range than requested is refused",
        arguments: [
            "bytes 9223372036854775807-9223372036854775807/1", "bytes 1-2/3", "bytes -2/3", "bytes -5--4/3", "bytes x",
        ])
    func unrequestedByteRangeIsRefused(range: String) async throws {
        let elsewhere = MediaChunk.Source.remote(try #require(URL(string: "https://example.com/a")))
        let transport = try transport(Script(part(range)))
        await #expect(
            performing: { try await transport.read(elsewhere, from: 0, upTo: 2, ifStill: nil, token: nil) },
            throws: { ($0 as? ChatError)?.code == .malformed })
    }

    @Test("An offset beyond the end of a file is a conflict, whatever error code the server sends")
    func offsetBeyondTheEndIsAConflict() async throws {
        let body = Data(#"{"code":"invalid-parameter","title":"beyond the end","status":416}"#.utf8)
        let transport = try transport(Script(HTTPExchange.Answer(status: 416, headers: problem, body: body)))
        await #expect(
            performing: { try await transport.read(.media(media), from: 9, upTo: 2, ifStill: "a", token: "t") },
            throws: { ($0 as? ChatError)?.code == .conflict })
    }

    @Test("A delay that no timer can represent counts as missing", arguments: ["nan", "inf", "1e300", "soon"])
    func delaysMustBeFinite(text: String) async throws {
        let transport = try transport(Script(HTTPExchange.Answer(status: 429, headers: ["retry-after": text])))
        await #expect(
            performing: { try await transport.progress(of: "/v1/uploads/x", token: "t") },
            throws: { ($0 as? ChatError).map { $0.code == .rateLimited && $0.retryAfter == nil } ?? false })
    }

    @Test(
        "Errors of a remote server concern the file and never the client's token",
        arguments: [
            (401, ChatError.Code.unknownMedia), (403, .unknownMedia), (404, .unknownMedia), (500, .unreachable),
        ])
    func remoteErrorsConcernTheFile(status: Int, code: ChatError.Code) async throws {
        let body = Data(#"{"code":"invalid-token","title":"no","status":401}"#.utf8)
        let script = Script(HTTPExchange.Answer(status: status, headers: problem, body: body))
        let file = MediaChunk.Source.remote(try #require(URL(string: "https://example.com/a")))
        let transport = try transport(script)
        await #expect(
            performing: { try await transport.read(file, from: 0, upTo: 2, ifStill: nil, token: nil) },
            throws: { ($0 as? ChatError)?.code == code })
        #expect(script.requests.first?.headers.contains { $0.0 == "Authorization" } == false)
    }

    @Test(
        "Uploads and links work behind a proxy that adds a path prefix",
        arguments: ["https://example.com/chat", "https://example.com/chat/", "https://example.com"],
        ["/v1/uploads/abc", "https://example.com/chat/v1/uploads/abc"])
    func path(server: String, location: String) async throws {
        let script = Script(
            HTTPExchange.Answer(status: 204, headers: ["upload-offset": "0"]), HTTPExchange.Answer(status: 204),
            HTTPExchange.Answer(status: 204),
            HTTPExchange.Answer(status: 200, body: Data(#"{"url":"/v1/media/m/thumbnail?token=a%2Fb"}"#.utf8)))
        let transport = try transport(script, server)
        _ = try await transport.progress(of: location, token: "t")
        try await transport.append(Data([1]), to: location, at: 0, isLast: true, token: "t")
        try await transport.cancelUpload(location, token: "t")
        let base = server.hasSuffix("/") ? String(server.dropLast()) : server
        #expect(script.addresses == [String](repeating: base + "/v1/uploads/abc", count: 3))
        #expect(script.requests.map(\.method) == ["HEAD", "PATCH", "DELETE"])
        let link = try await transport.link(to: media, thumbnail: true, expiresIn: nil, token: "t")
        #expect(link.absoluteString == base + "/v1/media/m/thumbnail?token=a%2Fb")
    }

    @Test("The client sends no token to an upload URL on another host")
    func tokenIsNotSentToAnotherHost() async throws {
        let script = Script(HTTPExchange.Answer(status: 204))
        let transport = try transport(script)
        await #expect(
            performing: {
                try await transport.append(
                    Data(), to: "https://example.org/v1/uploads/a", at: 0, isLast: true, token: "t")
            }, throws: { ($0 as? ChatError)?.code == .internalError })
        #expect(script.requests.isEmpty)
    }
}
