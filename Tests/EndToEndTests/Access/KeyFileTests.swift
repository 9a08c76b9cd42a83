import Crypto
import Foundation
import ScrollbackModel
import ScrollbackServer
import TestSupport
import Testing

/// Files of public keys, and contents that the server must refuse in them.
@Suite struct KeyFileTests {
    @Test func `A PEM file, a JWK Set and a directory of both provide keys, each with its kid`() async throws {
        func summary(_ name: String) async throws -> String {
            try await TokenKeys.read(.files(TokenKeyFiles.path(name))).summary
        }
        #expect(try await summary("good") == #"EdDSA "ed25519", ES256 "p256", RS256 "rsa""#)
        #expect(try await summary("good/p256.pem") == #"ES256 "p256""#)
        #expect(try await summary("pkcs1.pem") == #"RS256 "pkcs1""#)
        #expect(try await summary("set.json") == #"RS256 "web-rsa", ES256 "web-p256", EdDSA "web-ed25519""#)

        let folder = try TemporaryFolder()
        func place(_ name: String, as other: String) throws {
            try FileManager.default.copyItem(
                atPath: TokenKeyFiles.path(name), toPath: folder.url.appending(component: other).path)
        }
        try place("good/p256.pem", as: "phone.app.pem")
        try place("set.json", as: "set.json")
        // Hidden files and files with other extensions are ignored.
        try place("bad/private.pem", as: "private.txt")
        try place("bad/words.pem", as: ".hidden.pem")
        // Orchestrators place files as symbolic links.
        try FileManager.default.createSymbolicLink(
            atPath: folder.url.appending(component: "linked.pem").path,
            withDestinationPath: TokenKeyFiles.path("good/ed25519.pem"))
        #expect(
            try await TokenKeys.read(.files(folder.url.path)).summary
                == #"EdDSA "linked", ES256 "phone.app", RS256 "web-rsa", ES256 "web-p256", EdDSA "web-ed25519""#)
    }

    @Test func `A P-256 key in a JWK Set is accepted without the leading zeros of its coordinates`() async throws {
        var point: [UInt8] = []
        // One of 128 keys has such a coordinate.
        repeat {
            point = Array(P256.Signing.PrivateKey().publicKey.rawRepresentation)
        } while point[0] != 0 && point[32] != 0
        let (x, y) = (point.prefix(32).drop { $0 == 0 }, point.suffix(32).drop { $0 == 0 })
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "short.json")
        let key = #"{"kty":"EC","crv":"P-256","kid":"short","x":"\#(Data(x).base64URL)","y":"\#(Data(y).base64URL)"}"#
        try Data(#"{"keys":[\#(key)]}"#.utf8).write(to: file)
        #expect(try await TokenKeys.read(.files(file.path)).summary == #"ES256 "short""#)
    }

    @Test func `Keys in a JWK Set that can't verify tokens are skipped with a reason`() async throws {
        let keys = try await TokenKeys.read(.files(TokenKeyFiles.path("set.json")))
        #expect(keys.ignoredKeys.count == 5)
        for (reason, start) in zip(
            keys.ignoredKeys,
            [
                #"the key "encrypts" has the use enc"#, #"the key "long" is not for RS256"#,
                #"the key "p384" is not for RS256"#, #"the key "later" is not for RS256"#,
                #"the key "signs" does not have the key operation verify"#,
            ])
        {
            #expect(reason.hasPrefix(start) && reason.hasSuffix("(\(TokenKeyFiles.path("set.json")))"), "\(reason)")
        }
    }

    @Test(arguments: [
        ("weak.pem", "1024 bits"), ("weak.json", "1024 bits"), ("exponent.json", "exponent"),
        ("private.pem", "a private key (PRIVATE KEY)"), ("private-pkcs1.pem", "a private key (RSA PRIVATE KEY)"),
        ("private-ec.pem", "a private key (EC PRIVATE KEY)"),
        ("private-encrypted.pem", "a private key (ENCRYPTED PRIVATE KEY)"), ("both.pem", "a private key (PRIVATE KEY)"),
        ("private-rsa.json", "a private key (d, p, q, dp, dq, qi)"), ("private-p256.json", "a private key (d)"),
        ("private-ed25519.json", "a private key (d)"), ("shared.json", "a symmetric key"),
        ("shared-without-alg.json", "a symmetric key"), ("shared-alg.json", "a symmetric key"),
        ("none-alg.json", "algorithm none"), ("two.pem", "2 keys"), ("p384.pem", "another curve than P-256"),
        ("secp256k1.pem", "another curve than P-256"), ("ed448.pem", "unsupported key"), ("dsa.pem", "unsupported key"),
        ("compressed.pem", "compressed point"), ("cut.pem", "without an end"), ("no-end.pem", "without an end"),
        ("not-base64.pem", "not base64"), ("not-a-key.pem", "can't be parsed"), ("empty.pem", "no PEM block"),
        ("words.pem", "no PEM block"), ("no-modulus.json", "member n is missing"),
        ("off-curve.json", "not a point of P-256"), ("short-point.json", "not a point of P-256"),
        ("short-ed25519.json", "invalid Ed25519 key"), ("twice.json", #"the key "a", which"#),
        ("nothing.json", "no key for RS256"),
        ("only-others.json", #"no key for RS256, ES256 or EdDSA: the key "encrypts""#),
        ("one-key.json", "not a JWK Set"), ("cut.json", "not a JWK Set"), ("list.json", "no PEM block"),
        ("number.json", "not a JWK Set"), ("nowhere.pem", "does not exist"),
    ])
    func `An invalid key file is refused with an error that names the file and its defect`(name: String, fault: String)
        async throws
    {
        let path = TokenKeyFiles.path("bad/\(name)")
        let error = await #expect(throws: ChatError.self) { try await TokenKeys.read(.files(path)) }
        #expect(error?.code == .invalidParameter && error?.parameter == "token-keys")
        #expect(
            error?.message.contains(path) == true && error?.message.contains(fault) == true,
            "\(String(describing: error))")
        // The token service does not start with the file either.
        await #expect(throws: ChatError.self) { try await TokenKeyFiles.service(path) }
    }

    @Test func `A directory without keys and two files with the same kid are refused`() async throws {
        let folder = try TemporaryFolder()
        let empty = await #expect(throws: ChatError.self) { try await TokenKeys.read(.files(folder.url.path)) }
        #expect(empty?.message.contains("no *.pem or *.json file") == true)
        try FileManager.default.copyItem(
            atPath: TokenKeyFiles.path("good/p256.pem"), toPath: folder.url.appending(component: "web-rsa.pem").path)
        try FileManager.default.copyItem(
            atPath: TokenKeyFiles.path("set.json"), toPath: folder.url.appending(component: "set.json").path)
        let twice = await #expect(throws: ChatError.self) { try await TokenKeys.read(.files(folder.url.path)) }
        #expect(twice?.message.contains(#"the key "web-rsa", which \#(folder.url.path)/set.json also has"#) == true)
    }
}
