import Foundation
import SwiftASN1

extension PublicKey {
    /// Parses the only key of a PEM file (RFC 7468): a `PUBLIC KEY`, or an `RSA PUBLIC KEY` of old OpenSSL versions.
    ///
    /// Text before and after the block is ignored, because files often contain comments there.
    init(pem text: String) throws(KeyError) {
        // Check this first: a file with a private key is in the wrong place, whatever else it contains.
        if let label = text.firstMatch(of: /-----BEGIN ([^\n-]*PRIVATE KEY)-----/)?.1 {
            throw KeyError(
                "has a private key (\(label)): keep that with the issuer, and use the public key instead: "
                    + "openssl pkey -in FILE -pubout")
        }
        let blocks = text.matches(of: /-----BEGIN ([^\n-]+)-----([^-]*)-----END ([^\n-]+)-----/)
        guard let (_, label, base64, endLabel) = blocks.first?.output else {
            throw KeyError(
                text.contains("-----BEGIN ")
                    ? "has a PEM block without an end: copy the whole file again"
                    : "has no PEM block (-----BEGIN PUBLIC KEY-----)")
        }
        guard blocks.count == 1 else {
            throw KeyError("has \(blocks.count) keys: use one file for each key, named after its kid, or a JWK Set")
        }
        // Lines of any length: issuers show keys in one line.
        guard label == endLabel, let bytes = Data(base64Encoded: base64.filter { !$0.isWhitespace }) else {
            throw KeyError("has a PEM block that is not base64 between matching BEGIN and END lines")
        }
        do {
            switch label {
            case "PUBLIC KEY": try self.init(subjectPublicKeyInfo: Array(bytes))
            case "RSA PUBLIC KEY": try self.init(rsaPublicKey: Array(bytes)[...])
            case "CERTIFICATE":
                throw KeyError("has a certificate: extract its public key with openssl x509 -in FILE -noout -pubkey")
            default: throw KeyError("has a \(label) instead of a PUBLIC KEY")
            }
        } catch let error as KeyError {
            throw error
        } catch {
            throw KeyError("has a public key that can't be parsed: export it from the issuer again")
        }
    }

    /// Parses a `SubjectPublicKeyInfo` (RFC 5280 section 4.1.2.7).
    private init(subjectPublicKeyInfo der: [UInt8]) throws {
        let (algorithm, curve, key) = try DER.sequence(try DER.parse(der), identifier: .sequence) { info in
            guard let kind = info.next() else { throw ASN1Error.truncatedASN1Field() }
            let (algorithm, curve) = try DER.sequence(kind, identifier: .sequence) { kind in
                let algorithm = try ASN1ObjectIdentifier(derEncoded: &kind)
                return (algorithm, kind.next().flatMap { try? ASN1ObjectIdentifier(derEncoded: $0) })
            }
            return (algorithm, curve, try ASN1BitString(derEncoded: &info).bytes)
        }
        switch algorithm {
        case ASN1ObjectIdentifier.AlgorithmIdentifier.rsaEncryption: try self.init(rsaPublicKey: key)
        case ASN1ObjectIdentifier.AlgorithmIdentifier.idEcPublicKey:
            guard curve == .NamedCurves.secp256r1 else {
                throw KeyError("has a key of another curve than P-256 (ES256)")
            }
            guard key.first == 4, key.count == 65 else {
                throw KeyError(
                    "has a compressed point: convert it with openssl ec -pubin -in FILE -conv_form uncompressed -pubout"
                )
            }
            try self.init(x: key.dropFirst().prefix(32), y: key.suffix(32))
        case [1, 3, 101, 112]: try self.init(ed25519: key)
        default: throw KeyError("has an unsupported key: use RSA (RS256), P-256 (ES256) or Ed25519 (EdDSA)")
        }
    }

    /// Parses an `RSAPublicKey` (RFC 8017 appendix A.1.1).
    private init(rsaPublicKey der: ArraySlice<UInt8>) throws {
        let (modulus, exponent) = try DER.sequence(try DER.parse(der), identifier: .sequence) { numbers in
            (try ArraySlice<UInt8>(derEncoded: &numbers), try ArraySlice<UInt8>(derEncoded: &numbers))
        }
        try self.init(modulus: modulus, exponent: exponent)
    }
}
