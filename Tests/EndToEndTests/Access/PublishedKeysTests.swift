import Foundation
import NIOSSL
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import Synchronization
import TestSupport
import Testing

/// Keys that an issuer publishes at a URL, and tokens that PyJWT issued.
@Suite struct PublishedKeysTests {
    private static let url = "https://id.example/keys"
    private static let issuer = "https://issuer.example"

    /// An issuer whose answers the test sets, and whose requests it counts.
    private final class Provider: Sendable {
        struct State {
            var answers: [String: String] = [:]
            var requests: [String] = []
            var waiting: [CheckedContinuation<Void, Never>] = []
            var isHeld = false
            var now = TokenKeyFiles.now
        }

        let state = Mutex(State())
        private let folder: TemporaryFolder

        init(_ answers: [String: String]) throws {
            folder = try TemporaryFolder()
            state.withLock { $0.answers = answers }
        }

        var requests: [String] { state.withLock { $0.requests } }

        func answer(_ body: String?, at url: String = PublishedKeysTests.url) {
            state.withLock { $0.answers[url] = body }
        }

        func wait(_ seconds: Double) { state.withLock { $0.now += seconds } }

        /// Keeps requests without an answer until ``release()``.
        func hold() { state.withLock { $0.isHeld = true } }

        func release() {
            let waiting = state.withLock { state in
                state.isHeld = false
                defer { state.waiting = [] }
                return state.waiting
            }
            for one in waiting { one.resume() }
        }

        private func get(_ url: URL) async throws(ChatError) -> Data {
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    state.requests.append(url.absoluteString)
                    if state.isHeld { state.waiting.append(continuation) }
                    return state.isHeld
                }
                if !isHeld { continuation.resume() }
            }
            guard let body = state.withLock({ $0.answers[url.absoluteString] }) else {
                throw ChatError(.invalidParameter, "\(url) answers with status 500")
            }
            return Data(body.utf8)
        }

        func service(
            _ keys: String = PublishedKeysTests.url, issuer: String? = PublishedKeysTests.issuer,
            audience: String? = nil, mayGrantAdmin: Bool = false
        ) async throws -> TokenService {
            try await TokenService(
                directory: folder.url,
                trust: TokenTrust(keys: keys, issuer: issuer, audience: audience, mayGrantAdmin: mayGrantAdmin),
                download: KeyDownload(timeLimit: .seconds(3600)) { [self] (url) throws(ChatError) in
                    try await get(url)
                }, clock: { [self] in state.withLock { $0.now } })
        }
    }

    /// Returns a JWK Set with some keys of `set.json`.
    private static func set(_ names: String...) throws -> String {
        let data = try Data(contentsOf: TokenKeyFiles.folder.appending(path: "set.json"))
        let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: [[String: Any]]])
        let known = (json["keys"] ?? []).filter { names.contains($0["kid"] as? String ?? "") }
        let text = try JSONSerialization.data(withJSONObject: ["keys": known])
        return String(decoding: text, as: UTF8.self)
    }

    private func error(_ name: String, _ service: TokenService) async throws -> ChatError? {
        let token = try TokenKeyFiles.token(name)
        do throws(ChatError) {
            _ = try await service.verify(token)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Fetching

    @Test func `A token with an unknown kid makes the server fetch the keys, at most every ten seconds`() async throws {
        let provider = try Provider([Self.url: try Self.set("web-p256")])
        let service = try await provider.service(issuer: Self.issuer)
        #expect(provider.requests.count == 1)
        // The tokens of this fixture have no iss, so a valid signature ends with an error that names iss.
        #expect(try await error("good web-p256", service)?.message.contains("iss must be") == true)
        #expect(provider.requests.count == 1)

        // The issuer adds a key.
        provider.answer(try Self.set("web-p256", "web-rsa"))
        #expect(try await error("good web-rsa", service)?.message.contains("does not know the token's key") == true)
        #expect(provider.requests.count == 1)
        provider.wait(10)
        #expect(try await error("good web-rsa", service)?.message.contains("iss must be") == true)
        #expect(provider.requests.count == 2)

        // The issuer removes a key. The server uses it until it fetches the keys again.
        provider.answer(try Self.set("web-rsa"))
        #expect(try await error("good web-p256", service)?.message.contains("iss must be") == true)
        provider.wait(10)
        #expect(try await error("kid of nobody", service)?.code == .invalidToken)
        #expect(provider.requests.count == 3)
        #expect(try await error("good web-p256", service)?.message.contains("does not know the token's key") == true)
        // A clock that went back does not prevent the next fetch.
        provider.wait(-100)
        #expect(try await error("kid of nobody", service)?.code == .invalidToken)
        #expect(provider.requests.count == 4)
    }

    @Test func `Concurrent tokens with unknown keys share one fetch`() async throws {
        let provider = try Provider([Self.url: try Self.set("web-p256")])
        let service = try await provider.service()
        provider.wait(10)
        provider.answer(try Self.set("web-p256", "web-rsa"))
        provider.hold()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<200 {
                let name = number % 2 == 0 ? "good web-rsa" : "kid of nobody"
                group.addTask { try await error(name, service)?.message }
            }
            try await eventually("the fetch has started") { provider.requests.count == 2 ? true : nil }
            // A token with a known key does not wait for the fetch.
            #expect(try await error("good web-p256", service)?.message.contains("iss must be") == true)
            provider.release()
            var messages: [String] = []
            for try await message in group { messages.append(message ?? "") }
            #expect(messages.count { $0.contains("iss must be") } == 100)
            #expect(messages.count { $0.contains("does not know the token's key") } == 100)
        }
        #expect(provider.requests.count == 2)
        #expect(try await error("kid of nobody", service)?.code == .invalidToken)
        #expect(provider.requests.count == 2)
    }

    @Test func `The server keeps the keys while the issuer fails, and does not refuse tokens that may be valid`()
        async throws
    {
        let provider = try Provider([Self.url: try Self.set("web-p256")])
        let service = try await provider.service()
        let log = LogRecorder()
        await service.reloadIfChanged(logger: log.logger)
        #expect(log.lines.count == 1 && log.lines[0].contains(#"ES256 "web-p256""#), "\(log.lines)")

        for body in [nil, "<html>", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","kid":"web-rsa","k":"AAAA"}]}"#] {
            provider.answer(body)
            provider.wait(10)
            let refusal = try await error("good web-rsa", service)
            #expect(refusal?.code == .overloaded && refusal?.retryAfter == 10, "\(String(describing: refusal))")
            #expect(try await error("good web-p256", service)?.message.contains("iss must be") == true)
        }
        // The fault is logged once, with the URL.
        await service.reloadIfChanged(logger: log.logger)
        await service.reloadIfChanged(logger: log.logger)
        #expect(log.lines.count == 2 && log.lines[1].contains("\(Self.url) has a symmetric key"), "\(log.lines)")

        // The server fetches the keys again by itself.
        provider.answer(try Self.set("web-rsa"))
        provider.wait(10)
        try await eventually("the server has the new keys") {
            await service.reloadIfChanged(logger: log.logger)
            return log.lines.count == 4 ? true : nil
        }
        #expect(log.lines[2...].contains { $0.contains("can load the token keys again") }, "\(log.lines)")
        #expect(log.lines[2...].contains { $0.contains(#"RS256 "web-rsa""#) }, "\(log.lines)")
        #expect(try await error("good web-rsa", service)?.message.contains("iss must be") == true)
    }

    @Test func `The server fetches the keys every ten minutes, so that removed keys are no longer valid`() async throws
    {
        let provider = try Provider([Self.url: try Self.set("web-p256", "web-rsa")])
        let service = try await provider.service()
        let log = LogRecorder()
        provider.answer(try Self.set("web-rsa"))
        provider.wait(599)
        await service.reloadIfChanged(logger: log.logger)
        #expect(try await error("good web-p256", service)?.message.contains("iss must be") == true)
        #expect(provider.requests.count == 1)
        provider.wait(1)
        await service.reloadIfChanged(logger: log.logger)
        try await eventually("the removed key is not valid") {
            try await error("good web-p256", service)?.message.contains("does not know") == true ? true : nil
        }
        #expect(provider.requests.count == 2)
    }

    @Test func `A server whose issuer does not answer starts, and accepts its tokens later`() async throws {
        let provider = try Provider([:])
        let service = try await provider.service()
        #expect(try await error("good web-rsa", service)?.code == .overloaded)
        #expect(provider.requests.count == 1)
        let own = try await service.token(for: "bob", isAdmin: false, lifetime: 60)
        #expect(try await service.verify(own).caller.user == "bob")
        provider.answer(try Self.set("web-rsa"))
        provider.wait(10)
        #expect(try await error("good web-rsa", service)?.message.contains("iss must be") == true)
    }

    @Test(arguments: [
        "none", "HS256 by the public key", "HS256 without a kid", "RS512", "PS256", "alg of another key",
        "key in the header", "another's signature",
    ])
    func `Published keys verify only their own algorithm, and URLs in a token's header are ignored`(name: String)
        async throws
    {
        let provider = try Provider([Self.url: try Self.set("web-rsa", "web-p256", "web-ed25519")])
        let service = try await provider.service(mayGrantAdmin: true)
        provider.wait(10)
        #expect(try await error(name, service)?.code == .invalidToken)
        #expect(Set(provider.requests) == [Self.url])
    }

    // MARK: Discovery

    @Test func `An issuer's metadata name its keys and the required iss`() async throws {
        let discovery = "https://id.example/tenant/.well-known/openid-configuration"
        func metadata(_ issuer: String, _ set: String = Self.url) -> String {
            #"{"issuer":"\#(issuer)","jwks_uri":"\#(set)","other":[1]}"#
        }
        let provider = try Provider([
            discovery: metadata("https://id.example/tenant/"), Self.url: try Self.set("web-p256"),
        ])
        let service = try await provider.service(discovery, issuer: nil)
        #expect(provider.requests == [discovery, Self.url])
        let refusal = try await error("good web-p256", service)
        #expect(refusal?.message.contains("iss must be https://id.example/tenant/") == true)

        let log = LogRecorder()
        await service.reloadIfChanged(logger: log.logger)
        for (body, fault) in [
            (metadata("https://id.example/other"), "names the issuer https://id.example/other instead of"),
            (metadata("https://id.example/tenant", "http://id.example/keys"), "names a jwks_uri that is not"),
            (metadata("https://id.example/tenant", "http://127.0.0.1/keys"), "names a jwks_uri that is not"),
            (metadata("https://id.example/tenant", "file:///etc/passwd"), "names a jwks_uri that is not"),
            (metadata("https://id.example/tenant", discovery), "names a jwks_uri that is not"),
            (#"{"issuer":"https://id.example/tenant"}"#, "has no OpenID Connect metadata"), ("{", "has no OpenID"),
        ] {
            provider.answer(body, at: discovery)
            provider.wait(10)
            #expect(try await error("good web-rsa", service)?.code == .overloaded)
            await service.reloadIfChanged(logger: log.logger)
            #expect(log.lines.last?.contains("\(discovery) \(fault)") == true, "\(body): \(log.lines)")
        }
    }

    @Test(arguments: [
        ("http://id.example/keys", "https"), ("http://10.0.0.1/keys", "https"), ("https://", "with a host"),
        ("ftp://id.example/keys", "http or https"), ("https://me:secret@id.example/keys", "user name"),
        ("https://id.example/keys#a", "fragment"), ("https://id.example/ä", "http or https"),
    ])
    func `A key URL must be an https URL, or an http URL of this machine`(keys: String, fault: String) throws {
        let error = #expect(throws: ChatError.self) { try TokenTrust(keys: keys, issuer: Self.issuer) }
        #expect(
            error?.parameter == "token-keys" && error?.message.contains(fault) == true, "\(String(describing: error))")
    }

    @Test func `A JWK Set requires an issuer, and a discovery URL refuses one`() throws {
        #expect(throws: ChatError.self) { try TokenTrust(keys: Self.url) }
        let discovery = "http://127.0.0.1:9/.well-known/openid-configuration"
        #expect(throws: ChatError.self) { try TokenTrust(keys: discovery, issuer: Self.issuer) }
        _ = try TokenTrust(keys: discovery)
        _ = try TokenTrust(keys: "http://[::1]:9/keys", issuer: Self.issuer)
        _ = try TokenTrust(keys: "/etc/keys")
    }

    // MARK: HTTP

    private func fault(_ download: KeyDownload, _ url: String) async throws -> String {
        do throws(ChatError) {
            return try await TokenKeys.read(KeyLocation(url), download: download).summary
        } catch {
            return error.message
        }
    }

    @Test
    func `Answers that are not a JWK Set are refused with the URL and the reason, and redirects are not followed`()
        async throws
    {
        let set = try Self.set("web-rsa")
        let pem = try String(contentsOfFile: TokenKeyFiles.path("good/rsa.pem"), encoding: .utf8)
        let other = try await StubServer { _ in StubServer.Reply(status: 200, body: set) }
        let address = other.address
        let server = try await StubServer { path in
            switch path {
            case "/good": StubServer.Reply(status: 200, body: set)
            case "/large": StubServer.Reply(status: 200, body: String(repeating: " ", count: 1 << 20) + "{}")
            case "/moved": StubServer.Reply(status: 302, body: "", headers: ["Location": address + "/good"])
            case "/html": StubServer.Reply(status: 200, body: "<html>")
            case "/pem": StubServer.Reply(status: 200, body: pem)
            default: nil
            }
        }
        let download = KeyDownload.overHTTP()
        #expect(try await fault(download, server.address + "/good") == #"RS256 "web-rsa""#)
        for (path, fault) in [
            ("/large", "has more than 1048576 bytes"), ("/moved", "redirects (status 302)"),
            ("/html", "is not a JWK Set"), ("/pem", "is not a JWK Set"), ("/nothing", "answers with status 404"),
        ] {
            let message = try await self.fault(download, server.address + path)
            #expect(message.contains("\(server.address + path) \(fault)"), "\(message)")
        }
        let closed = try await self.fault(download, "http://127.0.0.1:1/keys")
        #expect(closed.contains("http://127.0.0.1:1/keys can't be read"), "\(closed)")
    }

    @Test func `A slow answer ends the download`() async throws {
        let receiver = WebhookReceiver(.drips)
        try await receiver.start()
        let url = try KeyLocation(receiver.url)
        let error = await #expect(throws: ChatError.self) {
            try await TokenKeys.read(url, download: .overHTTP(timeLimit: .milliseconds(200)))
        }
        #expect(error?.message.contains("does not answer within") == true, "\(String(describing: error))")
    }
}
