import Foundation
import ScrollbackServer
import TestSupport
import Testing

/// The keys and tokens that `make.py` generated with PyJWT.
enum TokenKeyFiles {
    static let folder = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        .appending(path: "Fixtures/TokenKeys")

    /// The time at which the tokens were issued.
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func path(_ name: String) -> String { folder.appending(path: name).path }

    static let tokens: [String: String] =
        (try? JSONDecoder().decode(
            [String: String].self, from: Data(contentsOf: folder.appending(path: "tokens.json"))))
        ?? [:]

    static func token(_ name: String) throws -> String { try #require(tokens[name], "no token \(name): see make.py") }

    /// Returns a service that trusts `keys`, whose clock is `seconds` after the tokens were issued.
    static func service(
        _ keys: String, issuer: String? = nil, audience: String? = nil, mayGrantAdmin: Bool = false,
        later seconds: Double = 0, in folder: URL? = nil
    ) async throws -> TokenService {
        // The service reads its secrets when it is created.
        let temporary = try TemporaryFolder()
        return try await TokenService(
            directory: folder ?? temporary.url,
            trust: try TokenTrust(keys: keys, issuer: issuer, audience: audience, mayGrantAdmin: mayGrantAdmin),
            clock: { now.addingTimeInterval(seconds) })
    }
}
