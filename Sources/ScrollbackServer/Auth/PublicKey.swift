import Foundation
import JWTKit

/// An invalid key.
///
/// `reason` continues a sentence that starts with the name of the file.
struct KeyError: Error {
    var reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// The supported signature algorithms.
///
/// All are asymmetric.
enum KeyAlgorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case eddsa = "EdDSA"

    /// Creates an algorithm from its name in a token or JWK.
    ///
    /// RFC 9864 names EdDSA after its curve, Ed25519.
    init?(named name: String) {
        guard let found = name == "Ed25519" ? .eddsa : KeyAlgorithm(rawValue: name) else { return nil }
        self = found
    }
}

/// A public key.
///
/// Each kind of key belongs to exactly one algorithm (RFC 8725 section 3.1).
enum PublicKey: Sendable {
    case rsa(Insecure.RSA.PublicKey)
    case p256(ES256PublicKey)
    case ed25519(EdDSA.PublicKey)

    /// The minimum key size in bits (RFC 7518 section 3.3).
    private static let minimumBits = 2048
    /// The maximum key size in bits, which limits the CPU time of one verification.
    private static let maximumBits = 8192

    var algorithm: KeyAlgorithm {
        switch self {
        case .rsa: .rs256
        case .p256: .es256
        case .ed25519: .eddsa
        }
    }

    /// Creates an RSA key.
    ///
    /// - Parameters:
    ///   - modulus: The modulus in big-endian byte order.
    ///   - exponent: The public exponent in big-endian byte order.
    init(modulus: some Collection<UInt8>, exponent: some Collection<UInt8>) throws(KeyError) {
        let modulus = Data(modulus.drop { $0 == 0 })
        let exponent = Data(exponent.drop { $0 == 0 })
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard (Self.minimumBits...Self.maximumBits).contains(bits) else {
            throw KeyError(
                "has an RSA key of \(bits) bits, but \(Self.minimumBits) to \(Self.maximumBits) are supported")
        }
        guard let last = exponent.last, last & 1 == 1, exponent != Data([1]) else {
            throw KeyError("has an insecure RSA key, because its exponent is 1 or even")
        }
        do {
            self = .rsa(
                try Insecure.RSA.PublicKey(
                    modulus: modulus.base64EncodedString(), exponent: exponent.base64EncodedString()))
        } catch {
            throw KeyError("has an invalid RSA key")
        }
    }

    /// Creates a P-256 key from the two coordinates of its point, 32 bytes each.
    init(x: some Collection<UInt8>, y: some Collection<UInt8>) throws(KeyError) {
        guard x.count == 32, y.count == 32,
            let key = try? ES256PublicKey(parameters: (Data(x).base64EncodedString(), Data(y).base64EncodedString()))
        else { throw KeyError("has a key that is not a point of P-256") }
        self = .p256(key)
    }

    init(ed25519 x: some Collection<UInt8>) throws(KeyError) {
        guard x.count == 32, let key = try? EdDSA.PublicKey(x: Data(x).base64EncodedString(), curve: .ed25519) else {
            throw KeyError("has an invalid Ed25519 key")
        }
        self = .ed25519(key)
    }

    /// Creates a key collection with only this key, so that JWTKit can't choose another one.
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
