import Foundation
import ScrollbackModel
import ScrollbackServer

/// Checks the public keys of external token issuers in the same way as a server start.
struct KeyChecks {
    /// The path of a file or directory, or a URL, or `nil` for the one in the environment.
    let place: String?

    private static let check = "token keys"

    /// Runs the check.
    ///
    /// - Returns: The finding, or an empty array if no external keys are configured.
    func run() async -> [Finding] {
        let environment = ProcessInfo.processInfo.environment
        guard let place = place ?? environment["SCROLLBACK_TOKEN_KEYS"] else { return [] }
        do {
            let download = KeyDownload.overHTTP(trustingAlso: environment["SCROLLBACK_TOKEN_AUTHORITIES"])
            let keys = try await TokenKeys.read(KeyLocation(place), download: download)
            guard keys.ignoredKeys.isEmpty else {
                return [
                    .warning(
                        Self.check, "\(keys.summary). Ignored: \(keys.ignoredKeys.joined(separator: "; ")).",
                        fix: "If tokens are signed with an ignored key, use RS256, ES256 or EdDSA instead.")
                ]
            }
            return [.ok(Self.check, keys.summary)]
        } catch {
            return [
                .failed(
                    Self.check, error.message,
                    fix: place.contains("://")
                        ? "Fix the URL or the issuer. Until then, the server keeps its previous keys, if it has any."
                        : "Fix the file. A server does not start with it, and a running server keeps its previous keys."
                )
            ]
        }
    }
}
