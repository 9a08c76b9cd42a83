import AsyncHTTPClient
import Foundation
import NIOSSL
import TestSupport
import Testing

/// An OpenID Connect provider, the Python package oidc-provider-mock, run as a child process.
///
/// Each process makes a new key. Its ID tokens have no `kid`.
final class IdentityProvider: Sendable {
    private let process: ChildProcess
    let url: URL

    /// Starts a provider. The test must have the trait `needs(.standIns)`.
    ///
    /// - Parameter port: The port, or 0 for any free port.
    static func start(port: Int = 0, in folder: URL) async throws -> IdentityProvider {
        let process = try ChildProcess(
            Requirement.standIns.path(), ["-m", "oidc_provider_mock", "--port", String(port)],
            name: "provider-\(UUID())", folder: folder)
        let url = try await eventually("the identity provider listens", within: 60) {
            if let code = process.end {
                throw ChildProcess.Failure(description: "The provider ended with \(code): \(process.errorText)")
            }
            return process.errorText.firstMatch(of: /running on (http:\/\/[0-9.:]+)/)
                .flatMap { URL(string: String($0.1)) }
        }
        return IdentityProvider(process, url)
    }

    private init(_ process: ChildProcess, _ url: URL) {
        self.process = process
        self.url = url
    }

    deinit { process.kill() }

    func stop() { process.kill() }

    /// The URL of the provider's metadata.
    var discovery: String { url.absoluteString + "/.well-known/openid-configuration" }

    /// Signs a user in, and returns the ID token.
    func idToken(for user: String, client: String) async throws -> String {
        var configuration = API.configuration(.makeClientConfiguration())
        configuration.redirectConfiguration = .disallow
        let http = HTTPClient(configuration: configuration)
        let callback = "http://127.0.0.1:9/callback"
        let form = "application/x-www-form-urlencoded"
        let redirect = try await API(server: url).call(
            "POST",
            "/oauth2/authorize?response_type=code&client_id=\(client)&redirect_uri=\(callback)&scope=openid&state=s",
            "sub=\(user)", type: form, client: http)
        try await http.shutdown()
        let target = try #require(redirect.headers["location"].flatMap { URLComponents(string: $0) }, "\(redirect)")
        let code = try #require(target.queryItems?.first { $0.name == "code" }?.value)
        let secret = Data("\(client):secret".utf8).base64EncodedString()
        let answer = try await API(server: url).call(
            "POST", "/oauth2/token", "grant_type=authorization_code&code=\(code)&redirect_uri=\(callback)", type: form,
            headers: ["Authorization": "Basic \(secret)"])
        return try #require(answer.json.string("id_token"), "\(answer)")
    }
}
