import Foundation
import ScrollbackModel
import ScrollbackServer

/// Whether a server would take the public keys that tokens of others are checked by.
struct KeyChecks {
    /// A file or a directory; nothing where only the environment says it.
    let path: String?

    private static let check = "keys of tokens"

    /// - Returns: nothing where no others' keys are used.
    func run() async -> [Finding] {
        guard let path = path ?? ProcessInfo.processInfo.environment["SCROLLBACK_TOKEN_KEYS"] else { return [] }
        do {
            let keys = try await TokenKeys.read(path)
            guard keys.passedOver.isEmpty else {
                return [
                    .warning(
                        Self.check, "\(keys.summary); passed over: \(keys.passedOver.joined(separator: "; "))",
                        fix: "nothing, if nobody signs tokens by those; else have them use RS256, ES256 or EdDSA")
                ]
            }
            return [.ok(Self.check, keys.summary)]
        } catch {
            return [
                .failed(
                    Self.check, error.message,
                    fix: "mend the file: a server does not start with it, and one that runs keeps the keys it had")
            ]
        }
    }
}
