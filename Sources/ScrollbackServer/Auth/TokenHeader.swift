import Foundation
import ScrollbackModel

/// The JOSE header of a token: its signature algorithm and key ID (RFC 7515 section 4).
///
/// The header is untrusted input. It selects one of the known keys, but never determines the algorithm of a key.
struct TokenHeader: Sendable {
    let algorithm: String
    let kid: String?

    private struct Fields: Decodable {
        var alg: String
        var kid: String?
        var typ: String?
        var isCritical: Bool

        private enum CodingKeys: CodingKey { case alg, kid, typ, crit }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            alg = try members.decode(String.self, forKey: .alg)
            kid = try members.decodeIfPresent(String.self, forKey: .kid)
            typ = try members.decodeIfPresent(String.self, forKey: .typ)
            isCritical = members.contains(.crit)
        }
    }

    /// The accepted values of `typ`.
    ///
    /// Tokens of other types serve other purposes (RFC 8725 section 3.11). For example, a provider signs logout tokens
    /// with the same key.
    private static let types: Set<String> = ["jwt", "at+jwt", "application/at+jwt"]

    /// Parses the header of a token.
    ///
    /// - Throws: `invalid-token`.
    init(of token: String) throws(ChatError) {
        guard let part = token.split(separator: ".", omittingEmptySubsequences: false).first,
            let data = Data(base64URL: String(part)), let fields = try? JSONDecoder().decode(Fields.self, from: data)
        else { throw ChatError(.invalidToken, "The token is not valid. Get a new one.") }
        // A critical extension must be understood (RFC 7515 section 4.1.11), and none is supported.
        guard !fields.isCritical else {
            throw ChatError(.invalidToken, "The token has the header crit, which is not supported.")
        }
        guard fields.typ.map({ Self.types.contains($0.lowercased()) }) ?? true else {
            throw ChatError(.invalidToken, "The token has another purpose, because its typ is not JWT or at+jwt.")
        }
        algorithm = fields.alg
        kid = fields.kid
    }
}
