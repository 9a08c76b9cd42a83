import Foundation
import HTTPTypes
import Hummingbird
package import ScrollbackModel

/// The web origins whose pages may use the server, in addition to its own.
///
/// Browsers permit a page to read the answers of another origin only if they name the page's origin (CORS). The server
/// never permits credentials, because its clients send their tokens themselves and not in cookies.
package struct AllowedOrigins: Sendable {
    private let origins: Set<String>

    /// Allows no other origin.
    package init() {
        origins = []
    }

    /// - Throws: `invalid-parameter` for a value that no browser sends as `Origin`.
    package init(_ origins: [String]) throws(ChatError) {
        for origin in origins where !Self.isOrigin(origin) {
            throw .invalidParameter(
                "allow-origin",
                "must be a scheme, a host and a port unless it is the default, such as https://app.example.org")
        }
        self.origins = Set(origins)
    }

    private static func isOrigin(_ text: String) -> Bool {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme, let host = parts.host,
            let standard = ["http": 80, "https": 443][scheme], !host.isEmpty, parts.port != standard
        else { return false }
        // Browsers write international names in ASCII, and an asterisk has no meaning in an origin.
        let isName = host.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x3A).contains($0) || "-._[]".utf8.contains($0)
        }
        return isName && text == "\(scheme)://\(host)\(parts.port.map { ":\($0)" } ?? "")"
    }

    // MARK: HTTP

    /// Returns the answer to a preflight request of an allowed origin, and `nil` to every other request.
    func preflight(_ request: Request) -> Response? {
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
            let origin = request.headers[.origin], origins.contains(origin)
        else { return nil }
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: "DELETE, GET, HEAD, PATCH, POST, PUT",
                .accessControlAllowHeaders: Self.requestFields, .accessControlMaxAge: "7200",
            ])
    }

    /// Permits an allowed origin to read a response.
    func addFields(to response: inout Response, for request: Request) {
        guard !origins.isEmpty else { return }
        response.headers.append(HTTPField(name: .vary, value: "Origin"))
        guard let origin = request.headers[.origin], origins.contains(origin) else { return }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlExposeHeaders] = Self.responseFields
    }

    private static let requestFields = """
        Authorization, Content-Type, If-None-Match, If-Range, Prefer, Range, Repr-Digest, Upload-Complete, \
        Upload-Draft-Interop-Version, Upload-Incomplete, Upload-Length, Upload-Offset
        """
    private static let responseFields = """
        Accept-Ranges, Allow, Content-Disposition, Content-Range, ETag, Location, Retry-After, Upload-Complete, \
        Upload-Draft-Interop-Version, Upload-Incomplete, Upload-Length, Upload-Limit, Upload-Offset
        """

    /// The origins whose pages may embed the chat page, for `frame-ancestors` of a content security policy.
    var embeddingSources: String {
        (["'self'"] + origins.sorted()).joined(separator: " ")
    }

    // MARK: WebSocket

    /// Returns why a page may not open a WebSocket, or `nil` if it may.
    ///
    /// Browsers don't apply CORS to WebSockets, so the server checks the origin. Pages of the server itself may
    /// connect, and programs, which send no origin. Without allowed origins, the server does not check.
    ///
    /// - Parameters:
    ///   - origin: The `Origin` field.
    ///   - host: The `Host` field. A proxy may change the scheme, so only the host and port are compared.
    func refusal(ofSocketFrom origin: String?, to host: String?) -> ChatError? {
        guard !origins.isEmpty, let origin, !origins.contains(origin) else { return nil }
        if let host, ["http://\(host)", "https://\(host)"].contains(origin) { return nil }
        return ChatError(
            .forbidden, "Pages of \(origin) may not connect. Allow the origin with serve --allow-origin.",
            parameter: "Origin")
    }
}
