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

    /// Issues a token. The test must have the trait `needs(.standIns)`.
    ///
    /// - Parameter key: The name of a key in `Tests/Fixtures/TokenKeys/private`.
    static func issue(_ key: String, _ algorithm: String, kid: String?, _ claims: [String: Any]) async throws -> String
    {
        var order: [String: Any] = [
            "key": TokenKeyFiles.path("private/\(key).pem"), "alg": algorithm, "claims": claims,
        ]
        order["kid"] = kid
        return try await answer(order)
    }

    /// Returns the claims of one of the server's own tokens, verified with the server's secret.
    static func read(_ token: String, secret: String) async throws -> String {
        try await answer(["token": token, "secret": secret])
    }

    private static func answer(_ order: [String: Any]) async throws -> String {
        let python = try Requirement.standIns.path()
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
