import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackServer
import TestSupport
import Testing

/// The real server with tokens that PyJWT signs.
@Suite struct TokenKeyServerTests {
    private func copy(_ name: String, to file: URL) throws {
        try Data(contentsOf: TokenKeyFiles.folder.appending(path: name)).write(to: file)
    }

    private func status(_ server: RunningServer, _ token: String) async throws -> (Int, String?) {
        let answer = try await API(server: server.url, token: token).call("GET", "/v1/me")
        return (answer.status, answer.code)
    }

    @Test(.needs(.standIns)) func `External tokens of each algorithm work over HTTP, a WebSocket and the SDK`()
        async throws
    {
        // An environment variable configures the keys of the issuer.
        let server = try await RunningServer.start(
            shell: "export SCROLLBACK_TOKEN_KEYS='\(TokenKeyFiles.path("good"))'")
        #expect(server.log.contains(#"EdDSA "ed25519", ES256 "p256", RS256 "rsa""#), "\(server.log)")
        for (key, algorithm) in [("rsa", "RS256"), ("p256", "ES256"), ("ed25519", "EdDSA")] {
            for kid in [key, nil] {
                let token = try await TokenIssuer.issue(key, algorithm, kid: kid, TokenIssuer.claims("from-\(key)"))
                let answer = try await API(server: server.url, token: token).call("GET", "/v1/me")
                #expect(answer.status == 200 && answer.json.string("user") == "from-\(key)", "\(answer)")
                let socket = try await TestSocket.signedIn(server, "alice", token: token)
                #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
                let client = try await ChatClient.open(
                    .init(server: server.url, user: UserID("from-\(key)"), store: .inMemory, token: { token }))
                client.connect()
                let chat = client.conversation(.direct("bob"))
                #expect(try await chat.send(.text(algorithm)).waitUntilSent().sender.text == "from-\(key)")
            }
            // A token with an unknown kid is refused.
            let other = try await TokenIssuer.issue(key, algorithm, kid: "p384", TokenIssuer.claims("eve"))
            #expect(try await status(server, other) == (401, "invalid-token"))
        }
    }

    @Test(.needs(.standIns))
    func `Keys are reloaded without a restart, and the old keys stay in use while a key file is invalid`()
        async throws
    {
        let folder = try TemporaryFolder()
        let keys = folder.url.appending(component: "keys")
        try FileManager.default.createDirectory(at: keys, withIntermediateDirectories: true)
        try copy("good/rsa.pem", to: keys.appending(component: "rsa.pem"))
        let server = try await RunningServer.start(["--token-keys", keys.path], folder: folder)
        let old = try await TokenIssuer.issue("rsa", "RS256", kid: "rsa", TokenIssuer.claims("alice"))
        let new = try await TokenIssuer.issue("web-p256", "ES256", kid: "web-p256", TokenIssuer.claims("alice"))
        #expect(try await status(server, old) == (200, nil))
        #expect(try await status(server, new) == (401, "invalid-token"))
        let socket = try await TestSocket.signedIn(server, "alice", token: old)

        // Add a second key beside the first.
        try copy("set.json", to: keys.appending(component: "provider.json"))
        try await eventually("the server has loaded the new keys") {
            try await status(server, new).0 == 200 ? true : nil
        }
        #expect(try await status(server, old) == (200, nil))

        // Write half of a file.
        try copy("bad/cut.pem", to: keys.appending(component: "rsa.pem"))
        try await eventually("the server logs the defect") {
            server.log.contains("\(keys.path)/rsa.pem has a PEM block without an end") ? true : nil
        }
        #expect(try await status(server, old) == (200, nil))
        #expect(try await status(server, new) == (200, nil))

        // Remove the first key. The server immediately refuses its tokens, even recently verified ones.
        try FileManager.default.removeItem(at: keys.appending(component: "rsa.pem"))
        try await eventually("the server refuses tokens of the old key") {
            try await status(server, old).0 == 401 ? true : nil
        }
        #expect(try await status(server, new) == (200, nil))
        // Open connections stay open until their token expires or is revoked.
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")

        // A server does not start with an invalid key file.
        #expect(try await server.terminate() == 0)
        try copy("bad/private.pem", to: keys.appending(component: "rsa.pem"))
        let refused = try RunningServer.run(
            ["serve", "--port", "0", "--data", server.data.path, "--token-keys", keys.path], name: "refused",
            folder: folder.url)
        #expect(try await refused.waitForEnd() == 1)
        #expect(
            refused.errorText.contains("\(keys.path)/rsa.pem has a private key (PRIVATE KEY)"), "\(refused.errorText)")
    }

    @Test(.needs(.standIns))
    func `Revoking tokens refuses external tokens and closes their connections, but accepts later tokens`()
        async throws
    {
        let server = try await RunningServer.start(["--token-keys", TokenKeyFiles.path("good/p256.pem")])
        let now = Date().timeIntervalSince1970
        let token = try await TokenIssuer.issue(
            "p256", "ES256", kid: nil, TokenIssuer.claims("alice", ["iat": now - 10]))
        let socket = try await TestSocket.signedIn(server, "alice", token: token)
        #expect(try await server.admin().call("DELETE", "/v1/users/alice/tokens").status == 204)
        #expect(try await socket.closed() == 4010)
        #expect(try await status(server, token) == (401, "token-revoked"))
        let later = try await TokenIssuer.issue("p256", "ES256", kid: nil, TokenIssuer.claims("alice"))
        #expect(try await status(server, later) == (200, nil))
        #expect(
            try await server.admin().call("PUT", "/v1/users/alice/state", #"{"state":"deactivated"}"#).status == 200)
        #expect(try await status(server, later) == (403, "user-deactivated"))
    }

    @Test(.needs(.standIns))
    func `External tokens grant admin rights only with an option, and the issuer and audience are checked`()
        async throws
    {
        let keys = TokenKeyFiles.path("good/ed25519.pem")
        func issue(_ others: [String: Any]) async throws -> String {
            try await TokenIssuer.issue("ed25519", "EdDSA", kid: "ed25519", TokenIssuer.claims("carol", others))
        }
        let admin = try await issue(["scopes": ["admin"]])
        let plain = try await RunningServer.start(["--token-keys", keys])
        #expect(try await status(plain, admin) == (401, "invalid-token"))
        let shared = try await API(server: plain.url, token: issue(["scope": "openid read admin"]))
            .call("GET", "/v1/settings")
        #expect(shared.status == 403 && shared.code == "forbidden")

        // A settings file configures the same options.
        let folder = try TemporaryFolder()
        let config = folder.url.appending(component: "settings.json")
        let settings: [String: Any] = [
            "token": ["keys": keys, "issuer": "https://id.example", "audience": "chat", "admin": true]
        ]
        try JSONSerialization.data(withJSONObject: settings).write(to: config)
        let strict = try await RunningServer.start(["--config", config.path], folder: folder)
        #expect(try await status(strict, admin) == (401, "invalid-token"))
        let named: [String: Any] = ["iss": "https://id.example", "aud": ["mail", "chat"]]
        #expect(try await status(strict, issue(named)) == (200, nil))
        let good = try await issue(named.merging(["scope": "admin"]) { $1 })
        #expect(try await API(server: strict.url, token: good).call("GET", "/v1/settings").status == 200)
        // Only the server itself can issue the token of a media link.
        let link = try await issue(named.merging(["media": "0198f3c2-7c1e-7000-8000-0123456789ab"]) { $1 })
        let answer = try await API(server: strict.url).call(
            "GET", "/v1/media/0198f3c2-7c1e-7000-8000-0123456789ab?token=\(link)")
        #expect(answer.status == 401 && answer.code == "invalid-token", "\(answer)")
    }

    @Test(.needs(.standIns))
    func `Tokens of an OpenID Connect provider work, also after the provider has a new key and while it is down`()
        async throws
    {
        let folder = try TemporaryFolder()
        // Another test's connection can't take this port while the provider is down.
        let port = try RunningServer.freePort()
        let first = try await IdentityProvider.start(port: port, in: folder.url)
        let server = try await RunningServer.start(
            ["--token-keys", first.discovery, "--token-audience", "chat"], folder: folder)
        #expect(server.log.contains("Accepting tokens signed with external keys"), "\(server.log)")
        let old = try await first.idToken(for: "alice", client: "chat")
        #expect(try await status(server, old) == (200, nil))
        let socket = try await TestSocket.signedIn(server, "alice", token: old)
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
        let other = try await first.idToken(for: "alice", client: "mail")
        #expect(try await status(server, other) == (401, "invalid-token"))

        first.stop()
        #expect(try await status(server, old) == (200, nil))
        let second = try await IdentityProvider.start(port: port, in: folder.url)
        let new = try await second.idToken(for: "bob", client: "chat")
        try await eventually("the server has fetched the new key", within: 60) {
            try await status(server, new) == (200, nil) ? true : nil
        }
        #expect(try await status(server, old) == (401, "invalid-token"))
        let metrics = try await server.admin().call("GET", "/metrics").text
        #expect(metrics.contains(#"scrollback_token_key_fetches_total{outcome="fetched"} "#), "\(metrics)")
    }

    @Test(.needs(.standIns)) func `A server starts without its token issuer, logs the reason and answers 503`()
        async throws
    {
        let server = try await RunningServer.start(
            ["--token-keys", "http://127.0.0.1:1/keys", "--token-issuer", "https://id.example"])
        #expect(server.log.contains("http://127.0.0.1:1/keys can't be read"), "\(server.log)")
        let token = try await TokenIssuer.issue("rsa", "RS256", kid: "rsa", TokenIssuer.claims("alice"))
        let answer = try await API(server: server.url, token: token).call("GET", "/v1/me")
        #expect(answer.status == 503 && answer.code == "overloaded", "\(answer)")
        #expect(answer.headers["retry-after"] == "10")
        #expect(try await server.admin().call("GET", "/v1/me").status == 200)
    }

    @Test func `Options for external tokens are refused without token keys`() async throws {
        for (arguments, parameter) in [
            (["--token-issuer", "x"], "token-issuer"), (["--token-audience", "x"], "token-audience"),
            (["--token-admin"], "token-admin"), (["--token-keys", ""], "token-keys"),
            (["--token-keys", "/nowhere"], "token-keys /nowhere does not exist"),
            (["--token-keys", "http://id.example/keys", "--token-issuer", "x"], "token-keys must be an https URL"),
            (["--token-keys", "https://id.example/keys"], "token-issuer is required"),
        ] {
            let folder = try TemporaryFolder()
            let ended = try await RunningServer.command(
                ["serve", "--port", "0", "--data", folder.url.appending(component: "data").path] + arguments)
            #expect(ended.code == 1 && ended.errors.contains(parameter), "\(arguments): \(ended)")
        }
    }

    @Test(.needs(.standIns)) func `Other programs can verify the server's tokens and read their scopes`() async throws {
        let server = try await RunningServer.start()
        let made = try await RunningServer.command(
            ["token", "bot", "--scope", "write", "--scope", "read", "--days", "1", "--data", server.data.path])
        try #require(made.code == 0, "\(made)")
        let token = made.output.trimmingCharacters(in: .newlines)
        let api = API(server: server.url, token: token)
        #expect(try await api.call("GET", "/v1/me").status == 200)
        #expect(try await api.call("PUT", "/v1/users/bot", #"{"name":"Bot"}"#).code == "forbidden")
        let secrets = Members(Array(try Data(contentsOf: server.data.appending(component: "secrets.json"))))
        let secret = try #require(secrets.objects("keys").last?["secret"] as? String)
        let read = try await TokenIssuer.read(token, secret: secret)
        let claims = Members(Array(read.utf8))
        #expect(claims.string("sub") == "bot" && claims.all["scopes"] as? [String] == ["read", "write"], "\(read)")
        for arguments in [["--scope", "raed"], ["--admin", "--scope", "read"]] {
            let wrong = try await RunningServer.command(["token", "bot", "--data", server.data.path] + arguments)
            #expect(wrong.code == 64, "\(wrong)")
        }
    }

    @Test func `The doctor checks the token keys if any are configured`() async throws {
        let server = try await RunningServer.start()
        func doctor(_ arguments: [String], shell: String? = nil) async throws -> (code: Int32, finding: Members?) {
            let folder = try TemporaryFolder()
            let process = try RunningServer.run(
                ["doctor", "--json", "--data", server.data.path, "--server", server.url.absoluteString] + arguments,
                shell: shell, name: "doctor", folder: folder.url)
            let code = try await process.waitForEnd(within: 60)
            let findings = process.outputText.split(separator: "\n").map { Members(Array($0.utf8)) }
            return (code, findings.first { $0.string("check") == "token keys" })
        }
        let none = try await doctor([])
        #expect(none.finding == nil)
        let good = try await doctor([], shell: "export SCROLLBACK_TOKEN_KEYS='\(TokenKeyFiles.path("good"))'")
        #expect(good.finding?.string("outcome") == "ok", "\(good)")
        let partly = try await doctor(["--token-keys", TokenKeyFiles.path("set.json")])
        #expect(partly.finding?.string("outcome") == "warning", "\(partly)")
        #expect(partly.finding?.string("detail")?.contains(#""encrypts" has the use enc"#) == true)
        let bad = try await doctor(["--token-keys", TokenKeyFiles.path("bad/weak.pem")])
        #expect(bad.code == 1 && bad.finding?.string("outcome") == "failed", "\(bad)")
        #expect(bad.finding?.string("detail")?.contains("1024 bits") == true)
        let down = try await doctor(["--token-keys", "http://127.0.0.1:1/keys"])
        #expect(down.finding?.string("outcome") == "failed", "\(down)")
        #expect(down.finding?.string("detail")?.contains("http://127.0.0.1:1/keys can't be read") == true)
    }
}
