import Foundation

extension PublicKey {
    /// Parses the only key of a PEM file (RFC 7468): a `PUBLIC KEY`, or an `RSA PUBLIC KEY` of old OpenSSL versions.
    init(pem text: String) throws(KeyError) {
        let blocks = try PEMBlock.all(in: text)
        // Check this first: a file with a private key is in the wrong place, whatever else it contains.
        if let secret = blocks.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) {
            throw KeyError(
                "has a private key (\(secret.label)): keep that with the issuer, and use the public key instead: "
                    + "openssl pkey -in FILE -pubout")
        }
        guard let block = blocks.first else { throw KeyError("has no PEM block (-----BEGIN PUBLIC KEY-----)") }
        guard blocks.count == 1 else {
            throw KeyError("has \(blocks.count) keys: use one file for each key, named after its kid, or a JWK Set")
        }
        var reader = DERReader(block.bytes)
        let key: PublicKey?
        switch block.label {
        case "PUBLIC KEY": key = try PublicKey(subjectPublicKeyInfo: &reader)
        case "RSA PUBLIC KEY": key = try PublicKey(rsaPublicKey: &reader)
        case "CERTIFICATE":
            throw KeyError("has a certificate: extract its public key with openssl x509 -in FILE -noout -pubkey")
        default: throw KeyError("has a \(block.label) instead of a PUBLIC KEY")
        }
        guard let key else { throw KeyError("has a public key that can't be parsed") }
        self = key
    }

    /// Parses a `SubjectPublicKeyInfo` (RFC 5280 section 4.1.2.7).
    ///
    /// - Returns: `nil` if the data is malformed.
    private init?(subjectPublicKeyInfo reader: inout DERReader) throws(KeyError) {
        guard var info = reader.sequence(), var kind = info.sequence(), let algorithm = kind.take(.objectIdentifier),
            let bits = info.take(.bitString), bits.first == 0
        else { return nil }
        let key = bits.dropFirst()
        switch ObjectIdentifier(algorithm) {
        case .rsa:
            var inner = DERReader(Array(key))
            try self.init(rsaPublicKey: &inner)
        case .ellipticCurve:
            guard let curve = kind.take(.objectIdentifier), ObjectIdentifier(curve) == .p256 else {
                throw KeyError("has a key of another curve than P-256 (ES256)")
            }
            guard key.first == 4, key.count == 65 else {
                throw KeyError(
                    "has a compressed point: convert it with openssl ec -pubin -in FILE -conv_form uncompressed -pubout"
                )
            }
            try self.init(x: key.dropFirst().prefix(32), y: key.suffix(32))
        case .ed25519: try self.init(ed25519: key)
        case .p256, nil:
            throw KeyError("has an unsupported key: use RSA (RS256), P-256 (ES256) or Ed25519 (EdDSA)")
        }
    }

    /// Parses an `RSAPublicKey` (RFC 8017 appendix A.1.1).
    private init?(rsaPublicKey reader: inout DERReader) throws(KeyError) {
        guard var numbers = reader.sequence(), let modulus = numbers.take(.integer),
            let exponent = numbers.take(.integer)
        else { return nil }
        try self.init(modulus: modulus, exponent: exponent)
    }

    private enum ObjectIdentifier {
        case rsa, ellipticCurve, p256, ed25519

        init?(_ bytes: ArraySlice<UInt8>) {
            switch Array(bytes) {
            case [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1]: self = .rsa
            case [0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]: self = .ellipticCurve
            case [0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]: self = .p256
            case [0x2B, 0x65, 0x70]: self = .ed25519
            default: return nil
            }
        }
    }
}

/// A PEM block.
///
/// Text before, between and after blocks is ignored, because files often contain comments there.
private struct PEMBlock {
    var label: String
    var bytes: [UInt8]

    static func all(in text: String) throws(KeyError) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var open: (label: String, base64: String)?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if let label = line.between("-----BEGIN ", "-----") {
                guard open == nil else { throw KeyError("has a PEM block without an end") }
                open = (label, "")
            } else if let label = line.between("-----END ", "-----") {
                guard let block = open, block.label == label else {
                    throw KeyError("has an end of a PEM block without a matching beginning")
                }
                // The content of a private key may be encrypted and is not decoded.
                let bytes = Data(base64Encoded: block.base64)
                guard bytes != nil || label.hasSuffix("PRIVATE KEY") else {
                    throw KeyError("has a PEM block that is not valid base64")
                }
                blocks.append(PEMBlock(label: label, bytes: bytes.map { Array($0) } ?? []))
                open = nil
            } else {
                open?.base64 += line
            }
        }
        guard open == nil else { throw KeyError("has a PEM block without an end") }
        return blocks
    }
}

extension String {
    fileprivate func between(_ start: String, _ end: String) -> String? {
        guard hasPrefix(start), hasSuffix(end), count > start.count + end.count else { return nil }
        return String(dropFirst(start.count).dropLast(end.count))
    }
}

/// A minimal DER reader (X.690), enough to recognize public keys and to explain why a key is unsupported.
private struct DERReader {
    enum Tag: UInt8 {
        case integer = 0x02
        case bitString = 0x03
        case objectIdentifier = 0x06
        case sequence = 0x30
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    mutating func sequence() -> DERReader? { take(.sequence).map { DERReader(Array($0)) } }

    /// Returns the content of the next element, or `nil` if it has another tag or is incomplete.
    mutating func take(_ tag: Tag) -> ArraySlice<UInt8>? {
        guard rest.popFirst() == tag.rawValue, let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first & 0x80 != 0 {
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), rest.count >= count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard rest.count >= length else { return nil }
        defer { rest = rest.dropFirst(length) }
        return rest.prefix(length)
    }
}
