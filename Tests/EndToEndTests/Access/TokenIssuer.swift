import Foundation
import Testing

/// Somebody else who signs tokens: PyJWT, as a program of its own.
enum TokenIssuer {
    /// What a token would say now that lets somebody in for an hour.
    static func claims(_ user: String, _ others: [String: Any] = [:]) -> [String: Any] {
        let now = Date().timeIntervalSince1970
        return ["sub": user, "iat": now, "exp": now + 3600].merging(others) { $1 }
    }

    /// - Parameter key: of `Tests/Fixtures/TokenKeys/private`.
    /// - Returns: nothing where PyJWT can't be had and nobody needs it: a stranger's machine.
    static func issue(_ key: String, _ algorithm: String, kid: String?, _ claims: [String: Any]) async throws -> String?
    {
        var order: [String: Any] = [
            "key": TokenKeyFiles.path("private/\(key).pem"), "alg": algorithm, "claims": claims,
        ]
        order["kid"] = kid
        return try await answer(order)
    }

    /// What one of this server's own tokens says, to somebody who has its secret.
    static func read(_ token: String, secret: String) async throws -> String? {
        try await answer(["token": token, "secret": secret])
    }

    private static func answer(_ order: [String: Any]) async throws -> String? {
        let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let python = package.appending(path: ".build/push-stand-ins/bin/python").path
        guard FileManager.default.isExecutableFile(atPath: python) else {
            try #require(!Run.isCI, "PyJWT is missing (scripts/push-stand-ins.sh)")
            print("skipped: PyJWT is not on this machine (scripts/push-stand-ins.sh)")
            return nil
        }
        let folder = try RunningServer.makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let input = folder.appending(component: "order.json")
        try JSONSerialization.data(withJSONObject: order).write(to: input)
        let process = try ChildProcess(
            "/bin/sh", ["-c", "\"$0\" \"$1\" < \"$2\"", python, TokenKeyFiles.path("issue.py"), input.path],
            name: "issuer", folder: folder)
        let code = try await process.waitForEnd()
        try #require(code == 0, "\(process.errorText)")
        return process.outputText.trimmingCharacters(in: .newlines)
    }
}
