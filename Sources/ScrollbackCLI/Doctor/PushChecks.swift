import Foundation
import ScrollbackModel
import ScrollbackServer

/// Whether a server would take the credentials of push services.
struct PushChecks {
    /// A file; nothing where only the environment says it.
    let path: String?

    private static let check = "push credentials"

    /// - Returns: nothing where no file has any.
    func run() -> [Finding] {
        guard let path = path ?? ProcessInfo.processInfo.environment["SCROLLBACK_PUSH_CREDENTIALS"] else { return [] }
        do {
            let services = try PushCredentialsFile.check(path).map(\.rawValue).joined(separator: ", ")
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            let permissions = attributes?[.posixPermissions] as? Int ?? 0
            guard permissions & 0o007 == 0 else {
                return [
                    .warning(
                        Self.check, "\(path) is open to everybody (\(String(permissions & 0o777, radix: 8)))",
                        fix: "chmod o= \(path)")
                ]
            }
            return [.ok(Self.check, services.isEmpty ? "\(path) has no service" : services)]
        } catch {
            return [
                .failed(
                    Self.check, error.message,
                    fix: "mend the file: a server does not start with it, and one that runs keeps what it had")
            ]
        }
    }
}
