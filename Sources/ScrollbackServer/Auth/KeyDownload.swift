import AsyncHTTPClient
package import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import ScrollbackModel
import ScrollbackPush

/// Downloads the keys that a token issuer publishes.
package struct KeyDownload: Sendable {
    /// Returns the body of a successful response.
    package typealias Get = @Sendable (URL) async throws -> Data

    private let get: Get
    private let timeLimit: Duration

    /// Creates a download.
    ///
    /// - Parameters:
    ///   - timeLimit: The time limit of all requests of one download together.
    ///   - get: Sends a request.
    package init(timeLimit: Duration, get: @escaping Get) {
        self.timeLimit = timeLimit
        self.get = get
    }

    /// The file with an issuer's keys, and the required value of the claim `iss` if the issuer's metadata name it.
    struct Published: Sendable {
        var file: KeyFile
        var issuer: String? = nil
    }

    /// The members of an issuer's metadata that the server uses (OpenID Connect Discovery 1.0 section 3).
    private struct Metadata: Decodable {
        var issuer: String
        var jwks_uri: String
    }

    /// Downloads an issuer's JWK Set.
    ///
    /// - Throws: `invalid-parameter` with the URL and the reason.
    func published(at url: KeyURL) async throws(ChatError) -> Published {
        do {
            return try await withDeadline(timeLimit) { [self] in
                guard let issuer = url.issuer else {
                    return Published(file: KeyFile(path: url.text, data: try await get(url.url)))
                }
                let metadata = try await metadata(of: issuer, at: url)
                let set = try Self.set(in: metadata, at: url)
                return Published(file: KeyFile(path: set.text, data: try await get(set.url)), issuer: metadata.issuer)
            }
        } catch let error as ChatError {
            throw error
        } catch {
            throw KeyFile.fault(url.text, "does not answer within \(timeLimit)")
        }
    }

    private func metadata(of issuer: String, at url: KeyURL) async throws -> Metadata {
        let data = try await get(url.url)
        guard let metadata = try? JSONDecoder().decode(Metadata.self, from: data) else {
            throw KeyFile.fault(url.text, "has no OpenID Connect metadata with an issuer and a jwks_uri")
        }
        // Otherwise one issuer could publish keys in the name of another (section 4.3).
        guard metadata.issuer == issuer || metadata.issuer == issuer + "/" else {
            throw KeyFile.fault(url.text, "names the issuer \(metadata.issuer.prefix(200)) instead of \(issuer)")
        }
        return metadata
    }

    private static func set(in metadata: Metadata, at url: KeyURL) throws(ChatError) -> KeyURL {
        guard let set = try? KeyURL(metadata.jwks_uri), set.url.scheme == "https" || url.url.scheme == "http",
            set.issuer == nil
        else { throw KeyFile.fault(url.text, "names a jwks_uri that is not the https URL of a JWK Set") }
        return set
    }
}

extension KeyDownload {
    /// Creates a download over HTTP.
    ///
    /// Follows no redirects: an issuer must not be able to select a server in the operator's network.
    ///
    /// - Parameters:
    ///   - authorities: A PEM file of certificate authorities to trust in addition to the system's.
    ///   - timeLimit: The time limit of all requests of one download together.
    package static func overHTTP(
        trustingAlso authorities: String? = nil, timeLimit: Duration = .seconds(5)
    ) -> KeyDownload {
        KeyDownload(timeLimit: timeLimit) { url in
            try await download(url, trustingAlso: authorities)
        }
    }

    /// Sends a request with a client of its own, because downloads are too rare to reuse a connection.
    private static func download(_ url: URL, trustingAlso authorities: String?) async throws(ChatError) -> Data {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.tlsConfiguration = .outgoing(trustingAlso: authorities)
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<Data, ChatError>
        do throws(ChatError) {
            result = .success(try await get(url, client))
        } catch {
            result = .failure(error)
        }
        try? await client.shutdown()
        return try result.get()
    }

    private static func get(_ url: URL, _ client: HTTPClient) async throws(ChatError) -> Data {
        do {
            var request = HTTPClientRequest(url: url.absoluteString)
            request.headers.add(name: "Accept", value: "application/json")
            request.headers.add(name: "User-Agent", value: "scrollback/\(Server.version)")
            let response = try await client.execute(request, timeout: .seconds(30))
            switch response.status.code {
            case 200: break
            case 300..<400:
                throw KeyFile.fault(
                    url.absoluteString,
                    "redirects (status \(response.status.code)), which the server does not follow: use the final URL")
            default: throw KeyFile.fault(url.absoluteString, "answers with status \(response.status.code)")
            }
            let body = try await response.body.collect(upTo: KeyFile.maximumBytes)
            // A cancelled body looks like a complete one.
            try Task.checkCancellation()
            return Data(Array(buffer: body))
        } catch let error as ChatError {
            throw error
        } catch is NIOTooManyBytesError {
            throw KeyFile.fault(url.absoluteString, "has more than \(KeyFile.maximumBytes) bytes")
        } catch {
            let reason = "\(error)"
            guard !reason.contains("CERTIFICATE_VERIFY_FAILED") else {
                throw KeyFile.fault(
                    url.absoluteString,
                    "has a certificate that this machine does not trust: the certificate must be valid for the host "
                        + "name, and SCROLLBACK_TOKEN_AUTHORITIES can name a PEM file with its authority")
            }
            throw KeyFile.fault(url.absoluteString, "can't be read: \(reason.prefix(300))")
        }
    }
}
