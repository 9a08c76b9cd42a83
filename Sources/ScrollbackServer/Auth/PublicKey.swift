import Foundation
import JWTKit

/// What is wrong with a key, in words that go on after the name of its file.
struct KeyFault: Error {
    var reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// How a token is signed, of the ways whose signatures a public key can check.
enum KeyAlgorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case eddsa = "EdDSA"

    /// By its name in a token or a JWK; RFC 9864 calls EdDSA by the name of its curve.
    init?(named name: String) {
        guard let found = name == "Ed25519" ? .eddsa : KeyAlgorithm(rawValue: name) else { return nil }
        self = found
    }
}

/// A public key of one of the three kinds that are taken, each for one algorithm and no other (RFC 8725 section 3.1).
enum PublicKey: Sendable {
    case rsa(Insecure.RSA.PublicKey)
    case p256(ES256PublicKey)
    case ed25519(EdDSA.PublicKey)

    /// Weaker ones can't be relied on (RFC 7518 section 3.3).
    private static let leastBits = 2048
    /// What a larger one costs to check, anybody could make the server pay.
    private static let mostBits = 8192

    var algorithm: KeyAlgorithm {
        switch self {
        case .rsa: .rs256
        case .p256: .es256
        case .ed25519: .eddsa
        }
    }

    /// - Parameters:
    ///   - modulus: big-endian, as the exponent.
    init(modulus: some Collection<UInt8>, exponent: some Collection<UInt8>) throws(KeyFault) {
        let modulus = Data(modulus.drop { $0 == 0 })
        let exponent = Data(exponent.drop { $0 == 0 })
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard (Self.leastBits...Self.mostBits).contains(bits) else {
            throw KeyFault("has an RSA key of \(bits) bits: it takes \(Self.leastBits) to \(Self.mostBits)")
        }
        guard let last = exponent.last, last & 1 == 1, exponent != Data([1]) else {
            throw KeyFault("has an RSA key whose exponent is 1 or even, with which anybody could sign")
        }
        do {
            self = .rsa(
                try Insecure.RSA.PublicKey(
                    modulus: modulus.base64EncodedString(), exponent: exponent.base64EncodedString()))
        } catch {
            throw KeyFault("has an RSA key that is none")
        }
    }

    /// A point of P-256: two coordinates of 32 bytes.
    init(x: some Collection<UInt8>, y: some Collection<UInt8>) throws(KeyFault) {
        guard x.count == 32, y.count == 32,
            let key = try? ES256PublicKey(parameters: (Data(x).base64EncodedString(), Data(y).base64EncodedString()))
        else { throw KeyFault("has a key that is no point of P-256") }
        self = .p256(key)
    }

    init(ed25519 x: some Collection<UInt8>) throws(KeyFault) {
        guard x.count == 32, let key = try? EdDSA.PublicKey(x: Data(x).base64EncodedString(), curve: .ed25519) else {
            throw KeyFault("has a key that is none of Ed25519")
        }
        self = .ed25519(key)
    }

    /// A collection that has this key alone, so that no other can be meant.
    func verifier() async -> JWTKeyCollection {
        let collection = JWTKeyCollection()
        switch self {
        case .rsa(let key): await collection.add(rsa: key, digestAlgorithm: .sha256)
        case .p256(let key): await collection.add(ecdsa: key)
        case .ed25519(let key): await collection.add(eddsa: key)
        }
        return collection
    }
}
