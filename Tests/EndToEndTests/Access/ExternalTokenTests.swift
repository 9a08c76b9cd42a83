import Foundation
import Logging
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// Tokens that PyJWT issued, verified by the server's own service.
@Suite struct ExternalTokenTests {
    private func check(_ name: String, _ service: TokenService) async throws -> VerifiedToken {
        try await service.verify(TokenKeyFiles.token(name))
    }

    private func refusal(_ name: String, _ service: TokenService) async throws -> ChatError? {
        let token = try TokenKeyFiles.token(name)
        return await #expect(throws: ChatError.self, "\(name)") { try await service.verify(token) }
    }

    // MARK: Signatures

    @Test(arguments: [
        ("good", ["good rsa", "good p256", "good ed25519", "good without a kid", "good at+jwt", "good Ed25519"]),
        ("set.json", ["good web-rsa", "good web-p256", "good web-ed25519"]),
    ])
    func `PEM files and a JWK Set verify tokens of each algorithm`(keys: String, names: [String]) async throws {
        let service = try await TokenKeyFiles.service(TokenKeyFiles.path(keys))
        // The first round verifies signatures. The second round uses tokens that the service has cached.
        for name in names + names {
            let verified = try await check(name, service)
            #expect(verified.caller.user == "alice" && !verified.caller.isAdmin && verified.caller.scopes == .all)
            #expect(verified.issuedAt == TokenKeyFiles.now)
            #expect(verified.expiresAt == TokenKeyFiles.now.addingTimeInterval(3600))
        }
    }

    @Test func `External tokens are refused without external keys and with other keys`() async throws {
        let folder = try TemporaryFolder()
        let own = try await TokenService(directory: folder.url, clock: { TokenKeyFiles.now })
        let other = try await TokenKeyFiles.service(TokenKeyFiles.path("set.json"))
        for name in ["good rsa", "good p256", "good ed25519"] {
            #expect(try await refusal(name, own)?.code == .invalidToken)
            #expect(try await refusal(name, other)?.code == .invalidToken)
        }
    }

    @Test(arguments: [
        "none", "None", "HS256 by the public key", "HS256 by the public key, stripped", "HS256 without a kid", "RS512",
        "PS256", "alg of another key", "alg of another key, no kid", "kid of another key", "kid of nobody",
        "another's signature", "key in the header", "zeros", "changed", "without a signature", "cut", "no alg", "crit",
        "logout+jwt", "dpop+jwt",
    ])
    func `A token without a valid signature is refused regardless of its header`(name: String) async throws {
        // A public key in the header, or the name of one, does not change the result.
        let service = try await TokenKeyFiles.service(TokenKeyFiles.path("good"), mayGrantAdmin: true)
        for _ in 0..<2 { #expect(try await refusal(name, service)?.code == .invalidToken) }
        #expect(try await check("good rsa", service).caller.user == "alice")
    }

    @Test func `A token without a kid is verified only if exactly one key has its algorithm`()
        async throws
    {
        let one = try await TokenKeyFiles.service(TokenKeyFiles.path("good/p256.pem"))
        #expect(try await check("good without a kid", one).caller.user == "alice")
        let none = try await TokenKeyFiles.service(TokenKeyFiles.path("good/rsa.pem"))
        #expect(try await refusal("good without a kid", none)?.message.contains("knows no key") == true)
        let folder = try TemporaryFolder()
        for name in ["good/p256.pem", "set.json"] {
            try FileManager.default.copyItem(
                at: TokenKeyFiles.folder.appending(path: name),
                to: folder.url.appending(component: URL(filePath: name).lastPathComponent))
        }
        let two = try await TokenKeyFiles.service(folder.url.path)
        #expect(try await refusal("good without a kid", two)?.message.contains("several keys") == true)
        #expect(try await check("good p256", two).caller.user == "alice")
    }

    // MARK: Claims

    @Test(arguments: [
        ("no sub", "sub, iat and exp"), ("no iat", "sub, iat and exp"), ("no exp", "sub, iat and exp"),
        ("exp as text", "not valid"), ("sub as a number", "not valid"), ("aud as a number", "not valid"),
        ("empty sub", "invalid subject"), ("long sub", "invalid subject"), ("clock far ahead", "iat"),
        ("negative iat", "iat"),
        ("not yet", "nbf"), ("more than a year", "366 days"), ("ends before it begins", "an exp after iat"),
        ("aud", "token-audience is not set"), ("no auds", "token-audience is not set"),
        ("empty scopes", "read, write, manage, account"), ("empty scope", "read, write, manage, account"),
        ("unknown scopes", "read, write, manage, account"), ("only scopes of others", "read, write, manage, account"),
        ("admin scopes", "read, write, manage, account"), ("only admin scope", "read, write, manage, account"),
        ("both scopes", "either scope or scopes"), ("media", "read, write, manage, account"),
    ])
    func `A token with invalid claims is refused with an error that names the claim`(name: String, words: String)
        async throws
    {
        let service = try await TokenKeyFiles.service(TokenKeyFiles.path("good"))
        for _ in 0..<2 {
            let error = try await refusal(name, service)
            #expect(
                error?.code == .invalidToken && error?.message.contains(words) == true, "\(String(describing: error))")
        }
    }

    @Test func `Token times are compared with the clock on each verification`() async throws {
        let service = try await TokenKeyFiles.service(TokenKeyFiles.path("good"))
        for name in ["iat by fractions", "a year", "clock ahead"] {
            #expect(try await check(name, service).caller.user == "alice", "\(name)")
        }
        #expect(try await refusal("expired", service)?.code == .tokenExpired)
        let expired = try TokenKeyFiles.token("expired")
        #expect(try await service.verify(expired, allowsExpired: true).caller.user == "alice")
        let late = try await TokenKeyFiles.service(TokenKeyFiles.path("good"), later: 3600)
        #expect(try await refusal("good rsa", late)?.code == .tokenExpired)
        #expect(
            try await check("not yet", try await TokenKeyFiles.service(TokenKeyFiles.path("good"), later: 1)).caller
                .user == "alice")
    }

    @Test func `A configured issuer and audience must match the token, which can have several audiences`() async throws
    {
        let issuer = try await TokenKeyFiles.service(TokenKeyFiles.path("good"), issuer: "https://issuer.example")
        #expect(try await check("iss", issuer).caller.user == "alice")
        for name in ["good rsa", "other iss"] { #expect(try await refusal(name, issuer)?.code == .invalidToken) }
        let audience = try await TokenKeyFiles.service(TokenKeyFiles.path("good"), audience: "chat")
        for name in ["aud", "auds"] { #expect(try await check(name, audience).caller.user == "alice") }
        for name in ["good rsa", "other aud", "no auds"] {
            #expect(try await refusal(name, audience)?.message.contains("aud") == true)
        }
        // The server's own tokens have neither claim.
        let own = try await audience.token(for: "bob", isAdmin: false, lifetime: 60)
        #expect(try await audience.verify(own).caller.user == "bob")
    }

    @Test func `Scopes are a JSON list or an OAuth string, in which unknown names are ignored`() async throws {
        let service = try await TokenKeyFiles.service(TokenKeyFiles.path("good"))
        #expect(try await check("scopes", service).caller.scopes == Scopes([.read, .write]))
        #expect(try await check("scope", service).caller.scopes == Scopes([.read, .write]))
        #expect(try await check("scope of others", service).caller.scopes == Scopes([.read]))
        // Without `mayGrantAdmin`, the server ignores the admin scope of an external token.
        let verified = try await check("admin scope", service)
        #expect(verified.caller.scopes == Scopes([.read]) && !verified.caller.isAdmin)
        let generous = try await TokenKeyFiles.service(TokenKeyFiles.path("good"), mayGrantAdmin: true)
        for name in ["admin scopes", "admin scope", "only admin scope"] {
            #expect(try await check(name, generous).caller.isAdmin)
        }
        #expect(try await check("good rsa", generous).caller.isAdmin == false)
    }

    // MARK: Key changes

    @Test func `Changed key files are reloaded, and a bad file is logged once and leaves the old keys in use`()
        async throws
    {
        let folder = try TemporaryFolder()
        let live = folder.url.appending(component: "live.json")
        func place(_ name: String) throws {
            try Data(contentsOf: TokenKeyFiles.folder.appending(path: name)).write(to: live)
        }
        try place("set.json")
        let service = try await TokenKeyFiles.service(live.path, in: folder.url)
        let log = LogRecorder()
        func reload() async { await service.reloadIfChanged(logger: log.logger) }
        #expect(try await check("good web-rsa", service).caller.user == "alice")
        await reload()
        #expect(log.lines.first?.contains("Accepting tokens signed with external keys") == true, "\(log.lines)")
        let start = log.lines.count
        await reload()
        #expect(log.lines.count == start)

        try place("bad/cut.json")
        await reload()
        await reload()
        let fault = try #require(log.lines.last)
        #expect(fault.contains(live.path) && fault.contains("not a JWK Set"), "\(log.lines)")
        #expect(log.lines.count == start + 1)
        #expect(try await check("good web-rsa", service).caller.user == "alice")
        #expect(try await check("good web-p256", service).caller.user == "alice")

        try FileManager.default.removeItem(at: live)
        await reload()
        await reload()
        #expect(log.lines.count == start + 2 && log.lines.last?.contains("does not exist") == true, "\(log.lines)")
        #expect(try await check("good web-ed25519", service).caller.user == "alice")

        // Removing a key also invalidates cached tokens that it signed.
        try Data(contentsOf: TokenKeyFiles.folder.appending(path: "good/p256.pem")).write(to: live)
        await reload()
        #expect(log.lines.last?.contains(#"ES256 "live""#) == true, "\(log.lines)")
        for name in ["good web-rsa", "good web-p256", "good web-ed25519"] {
            #expect(try await refusal(name, service)?.code == .invalidToken)
        }
        #expect(try await check("good without a kid", service).caller.user == "alice")

        try place("set.json")
        await reload()
        #expect(try await check("good web-rsa", service).caller.user == "alice")
        #expect(try await refusal("good without a kid", service)?.code == .invalidToken)
    }
}
