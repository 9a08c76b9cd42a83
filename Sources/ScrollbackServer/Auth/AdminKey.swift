package import Foundation
import ScrollbackModel

/// The administrator token in the file `admin.key` of the data directory.
///
/// It does not expire.
package enum AdminKey {
    private static func file(in directory: URL) -> URL { directory.appending(path: "admin.key") }

    package static func exists(in directory: URL) -> Bool {
        FileManager.default.fileExists(atPath: file(in: directory).path)
    }

    /// Returns the ID of the key that signed the token, or `nil` if the directory has no token.
    static func key(in directory: URL) -> String? {
        guard let token = try? String(contentsOf: file(in: directory), encoding: .utf8) else { return nil }
        return (try? TokenHeader(of: token.trimmingCharacters(in: .whitespacesAndNewlines)))?.kid
    }

    package static func write(in directory: URL, _ tokens: TokenService) async throws {
        let key = try await tokens.token(for: "admin", isAdmin: true, lifetime: nil)
        try PrivateFile.write(Data((key + "\n").utf8), to: file(in: directory))
    }
}
