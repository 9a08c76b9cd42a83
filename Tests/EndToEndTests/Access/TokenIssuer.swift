import Foundation
import TestSupport
import Testing

/// An external token issuer: PyJWT in a process of its own.
enum TokenIssuer {
    /// Returns the claims of a token that is valid for an hour from now.
    static func claims(_ user: String, _ others: [String: Any] = [:]) -> [String: Any] {
        let now = Date().timeIntervalSince1970
        return ["sub": user, "iat": now, "exp": now + 3600].merging(others) { $1 }
    }

    /// Issues a token.
    ///
    /// - Parameter key: The name of a key in `Tests/Fixtures/TokenKeys/private`.
    /// - Returns: The token, or `nil` if PyJWT is not installed. In CI, a missing PyJWT fails the test.
    static func issue(_ key: String, _ algorithm: String, kid: String?, _ claims: [String: Any]) async throws -> String?
    {
        var order: [String: Any] = [
            "key": TokenKeyFiles.path("private/\(key).pem"), "alg": algorithm, "claims": claims,
        ]
        order["kid"] = kid
        return try await answer(order)
    }

    /// Returns the claims of one of the server's own tokens, verified with the server's secret.
    static func read(_ token: String, secret: String) async throws -> String? {
        try await answer(["token": token, "secret": secret])
    }

    private static func answer(_ order: [String: Any]) async throws -> String? {
        let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let python = package.appending(path: ".build/push-stand-ins/bin/python").path
        guard FileManager.default.isExecutableFile(atPath: python) else {
            try #require(!Run.isCI, "PyJWT is missing. Run scripts/push-stand-ins.sh.")
            print("Skipped: PyJWT is not installed. Run scripts/push-stand-ins.sh.")
            return nil
        }
        let folder = try TemporaryFolder()
        let input = folder.url.appending(component: "order.json")
        try JSONSerialization.data(withJSONObject: order).write(to: input)
        let process = try ChildProcess(
            "/bin/sh", ["-c", "\"$0\" \"$1\" < \"$2\"", python, TokenKeyFiles.path("issue.py"), input.path],
            name: "issuer", folder: folder.url)
        let code = try await process.waitForEnd()
        try #require(code == 0, "\(process.errorText)")
        return process.outputText.trimmingCharacters(in: .newlines)
    }
}
