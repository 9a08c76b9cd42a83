import Foundation
import ScrollbackModel
import ScrollbackServer

/// Checks the push credentials in the same way as a server start.
struct PushChecks {
    /// The path of a file, or `nil` for the path in the environment.
    let path: String?

    private static let check = "push credentials"

    /// Runs the check.
    ///
    /// - Returns: The finding, or an empty array if no file is configured.
    func run() -> [Finding] {
        guard let path = path ?? ProcessInfo.processInfo.environment["SCROLLBACK_PUSH_CREDENTIALS"] else { return [] }
        do {
            let services = try PushCredentialsFile.check(path).map(\.rawValue).joined(separator: ", ")
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            let permissions = attributes?[.posixPermissions] as? Int ?? 0
            guard permissions & 0o007 == 0 else {
                return [
                    .warning(
                        Self.check, "All users can read \(path) (mode \(String(permissions & 0o777, radix: 8))).",
                        fix: "Run chmod o= \(path).")
                ]
            }
            return [.ok(Self.check, services.isEmpty ? "\(path) configures no service." : services)]
        } catch {
            return [
                .failed(
                    Self.check, error.message,
                    fix: "Fix the file. A server does not start with it, and a running server keeps its previous one.")
            ]
        }
    }
}
