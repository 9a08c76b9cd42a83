import Foundation
import ScrollbackModel

/// The public keys of a JWK Set (RFC 7517).
struct JWKSet: Sendable {
    /// The usable keys, each with its `kid` if it has one.
    private(set) var keys: [(id: String?, key: PublicKey)] = []
    /// Descriptions of the ignored keys: keys for another purpose or algorithm, which a set may contain (RFC 7517
    /// section 5).
    private(set) var ignoredKeys: [String] = []

    /// Parses a JWK Set.
    ///
    /// - Throws: `KeyError` if the data is not a JWK Set, or if a key is private, symmetric or insecure.
    init(_ data: Data) throws(KeyError) {
        struct Set: Decodable { var keys: [JWK] }
        let list: [JWK]
        do {
            list = try JSONDecoder().decode(Set.self, from: data).keys
        } catch {
            throw KeyError("is not a JWK Set of the form {\"keys\": [{\"kty\": …}]}")
        }
        for (index, jwk) in list.enumerated() {
            let name = jwk.kid.map { "the key \"\($0)\"" } ?? "the key at index \(index)"
            do throws(KeyError) {
                try jwk.checkIsPublic()
                if let reason = jwk.otherUse {
                    ignoredKeys.append("\(name) \(reason)")
                } else if let key = try jwk.key() {
                    keys.append((jwk.kid, key))
                } else {
                    ignoredKeys.append("\(name) is not for RS256, ES256 or EdDSA")
                }
            } catch {
                throw KeyError("\(error.reason) (\(name))")
            }
        }
    }
}

/// One key of a JWK Set, before its parameters are checked.
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
    /// The names of the key's members that belong only to a private or symmetric key.
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

    /// Throws if the key is symmetric or private.
    ///
    /// A symmetric key lets everyone who can read it sign tokens. A private key does not belong on a server that only
    /// verifies.
    func checkIsPublic() throws(KeyError) {
        guard kty != "oct", !(alg?.hasPrefix("HS") ?? false) else {
            throw KeyError("has a symmetric key (HS256 or similar), but only RS256, ES256 and EdDSA are supported")
        }
        guard alg != "none" else { throw KeyError("has a key with the algorithm none, which does not sign tokens") }
        guard secrets.isEmpty else {
            throw KeyError(
                "has a private key (\(secrets.joined(separator: ", "))): keep these members with the issuer only"
            )
        }
    }

    /// Why the key can't be used for verifying signatures, or `nil` if it can.
    var otherUse: String? {
        if let use, use != "sig" { return "has the use \(use) instead of sig" }
        if let keyOperations, !keyOperations.contains("verify") { return "does not have the key operation verify" }
        return nil
    }

    /// Converts the key.
    ///
    /// - Returns: `nil` if the key is for an unsupported algorithm.
    func key() throws(KeyError) -> PublicKey? {
        let key: PublicKey
        switch (kty, crv) {
        case ("RSA", _): key = try PublicKey(modulus: bytes(n, "n"), exponent: bytes(e, "e"))
        case ("EC", "P-256"): key = try PublicKey(x: coordinate(x, "x"), y: coordinate(y, "y"))
        case ("OKP", "Ed25519"): key = try PublicKey(ed25519: bytes(x, "x"))
        default: return nil
        }
        guard let alg else { return key }
        return KeyAlgorithm(named: alg) == key.algorithm ? key : nil
    }

    /// Returns a coordinate of a point of P-256 in 32 bytes.
    ///
    /// Some issuers omit leading zeros, although RFC 7518 section 6.2.1.2 requires them. They mean the same number.
    private func coordinate(_ text: String?, _ name: String) throws(KeyError) -> Data {
        let bytes = try bytes(text, name)
        return Data(count: max(0, 32 - bytes.count)) + bytes
    }

    private func bytes(_ text: String?, _ name: String) throws(KeyError) -> Data {
        guard let data = text.flatMap({ Data(base64URL: $0) }) else {
            throw KeyError("has a key whose member \(name) is missing or is not base64url")
        }
        return data
    }
}
