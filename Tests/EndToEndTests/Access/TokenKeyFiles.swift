import Foundation
import ScrollbackServer
import Testing

/// Keys and tokens that `make.py` made beside them, by PyJWT.
enum TokenKeyFiles {
    static let folder = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        .appending(path: "Fixtures/TokenKeys")

    /// When the tokens were made.
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func path(_ name: String) -> String { folder.appending(path: name).path }

    static let tokens: [String: String] =
        (try? JSONDecoder().decode([String: String].self, from: Data(contentsOf: folder.appending(path: "tokens.json"))))
        ?? [:]

    static func token(_ name: String) throws -> String { try #require(tokens[name], "no token \(name): see make.py") }

    /// A service that trusts keys, at the time when the tokens were made, or some seconds later.
    static func service(
        _ keys: String, issuer: String? = nil, audience: String? = nil, mayGrantAdmin: Bool = false,
        later seconds: Double = 0, in folder: URL? = nil
    ) async throws -> TokenService {
        let directory = try folder ?? RunningServer.makeFolder()
        // The secrets are read when it is made.
        defer { if folder == nil { try? FileManager.default.removeItem(at: directory) } }
        return try await TokenService(
            directory: directory,
            trust: TokenTrust(keys: keys, issuer: issuer, audience: audience, mayGrantAdmin: mayGrantAdmin),
            clock: { now.addingTimeInterval(seconds) })
    }
}
