import Foundation
import ScrollbackModel

/// What stands before a token's claims, and says how it is signed (RFC 7515 section 4).
///
/// It is the sender's word: it chooses among the keys that are known, and never how one of them is used.
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

    /// What tokens that let one in say that they are.
    ///
    /// Others are for something else (RFC 8725 section 3.11): a provider's notice that somebody signed out is signed by the
    /// same key.
    private static let types: Set<String> = ["jwt", "at+jwt", "application/at+jwt"]

    /// - Throws: `invalid-token`.
    init(of token: String) throws(ChatError) {
        guard let part = token.split(separator: ".", omittingEmptySubsequences: false).first,
            let data = Data(base64URL: String(part)), let fields = try? JSONDecoder().decode(Fields.self, from: data)
        else { throw ChatError(.invalidToken, "the token is not valid: ask for a new one") }
        // Whoever signed it relies on an extension being understood, and none is here (RFC 7515 section 4.1.11).
        guard !fields.isCritical else {
            throw ChatError(.invalidToken, "the token has a header crit, of which nothing is understood here")
        }
        guard fields.typ.map({ Self.types.contains($0.lowercased()) }) ?? true else {
            throw ChatError(.invalidToken, "the token is one for something else: its typ must be JWT or at+jwt")
        }
        algorithm = fields.alg
        kid = fields.kid
    }
}
