import Foundation
import ScrollbackModel

/// The keys of a JWK Set (RFC 7517), as whoever signs tokens publishes them.
struct JWKSet: Sendable {
    /// With their ids, where they have one.
    private(set) var keys: [(id: String?, key: PublicKey)] = []
    /// Keys that are for something else, which a set may well have (RFC 7517 section 5), and why they are.
    private(set) var passedOver: [String] = []

    /// - Throws: for what is no set, and for a key that must not lie here or that nobody should rely on.
    init(_ data: Data) throws(KeyFault) {
        struct Set: Decodable { var keys: [JWK] }
        let list: [JWK]
        do {
            list = try JSONDecoder().decode(Set.self, from: data).keys
        } catch {
            throw KeyFault("is no JWK Set, {\"keys\": [{\"kty\": …}]}")
        }
        for (index, jwk) in list.enumerated() {
            let name = jwk.kid.map { "the key \"\($0)\"" } ?? "the key at \(index)"
            do throws(KeyFault) {
                try jwk.checkIsPublic()
                if let reason = jwk.otherUse {
                    passedOver.append("\(name) \(reason)")
                } else if let key = try jwk.key() {
                    keys.append((jwk.kid, key))
                } else {
                    passedOver.append("\(name) is of another kind than RS256, ES256 and EdDSA")
                }
            } catch {
                throw KeyFault("\(error.reason) (\(name))")
            }
        }
    }
}

/// One key of a set, as it comes.
private struct JWK: Decodable {
    var kty: String
    var use: String?
    var keyOperations: [String]?
    var alg: String?
    var kid: String?
    var crv: String?
    var n: String?
    var e: String?
    var x: String?
    var y: String?
    /// Members that only a private key has, or one that is shared.
    let secrets: [String]

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kty, use, alg, kid, crv, n, e, x, y
        case keyOperations = "key_ops"
        case d, p, q, dp, dq, qi, oth, k
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func string(_ key: CodingKeys) throws -> String? { try members.decodeIfPresent(String.self, forKey: key) }
        kty = try members.decode(String.self, forKey: .kty)
        (use, alg, kid, crv) = (try string(.use), try string(.alg), try string(.kid), try string(.crv))
        (n, e, x, y) = (try string(.n), try string(.e), try string(.x), try string(.y))
        keyOperations = try members.decodeIfPresent([String].self, forKey: .keyOperations)
        secrets = [CodingKeys.d, .p, .q, .dp, .dq, .qi, .oth, .k].filter { members.contains($0) }.map(\.rawValue)
    }

    /// A shared secret would let whoever can read it sign, and a private key does not belong with who only checks.
    func checkIsPublic() throws(KeyFault) {
        guard kty != "oct", !(alg?.hasPrefix("HS") ?? false) else {
            throw KeyFault("has a key for HS256 and the like, a shared secret: it takes RS256, ES256 or EdDSA")
        }
        guard alg != "none" else { throw KeyFault("has a key of the algorithm none, which signs nothing") }
        guard secrets.isEmpty else {
            throw KeyFault(
                "has a private key (\(secrets.joined(separator: ", "))): keep it with who signs, and leave these out here"
            )
        }
    }

    /// What it is for, if not for checking signatures.
    var otherUse: String? {
        if let use, use != "sig" { return "is for \(use)" }
        if let keyOperations, !keyOperations.contains("verify") { return "is not for verifying" }
        return nil
    }

    /// - Returns: nothing for one of another kind.
    func key() throws(KeyFault) -> PublicKey? {
        let key: PublicKey
        switch (kty, crv) {
        case ("RSA", _): key = try PublicKey(modulus: bytes(n, "n"), exponent: bytes(e, "e"))
        case ("EC", "P-256"): key = try PublicKey(x: bytes(x, "x"), y: bytes(y, "y"))
        case ("OKP", "Ed25519"): key = try PublicKey(ed25519: bytes(x, "x"))
        default: return nil
        }
        guard let alg else { return key }
        return KeyAlgorithm(named: alg) == key.algorithm ? key : nil
    }

    private func bytes(_ text: String?, _ name: String) throws(KeyFault) -> Data {
        guard let data = text.flatMap({ Data(base64URL: $0) }) else {
            throw KeyFault("has a key whose member \(name) is missing or not base64url")
        }
        return data
    }
}
