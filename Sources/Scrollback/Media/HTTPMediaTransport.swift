package import Foundation
package import ScrollbackModel
import ScrollbackWire

/// Transfers files over HTTP.
///
/// Uploads use the IETF's resumable uploads (draft-ietf-httpbis-resumable-upload, interop version 6). Downloads use
/// range requests (RFC 9110 section 14).
package struct HTTPMediaTransport: MediaTransport {
    private let server: URL
    private let http: any HTTPTransport

    package init(server: URL, http: any HTTPTransport) {
        self.server = server
        self.http = http
    }

    // MARK: Uploads

    package func begin(
        _ upload: LocalUpload, in conversation: ConversationID, token: String
    ) async throws(ChatError) -> String? {
        var parameters = [
            ("conversation", conversation.description), ("type", upload.type.rawValue),
            ("id", upload.media.description),
        ]
        if let name = upload.name { parameters.append(("name", name)) }
        // Create the upload without data, so that its URL is known before the first byte is sent.
        let answer = try await request(
            "POST", server.v1("media", query: parameters), token,
            Self.upload(isLast: false) + [("Upload-Length", String(upload.size)), ("Content-Length", "0")])
        if answer.status == 200 { return nil }
        guard let location = answer.headers["location"] else {
            throw ChatError(.internalError, "The server created an upload without returning its location.")
        }
        return location
    }

    package func progress(of resource: String, token: String) async throws(ChatError) -> UploadProgress {
        let answer = try await request("HEAD", try uploadURL(resource), token, [Self.version])
        guard let offset = answer.headers["upload-offset"].flatMap({ Int64($0) }), offset >= 0 else {
            throw ChatError(.internalError, "The server did not return the offset of the upload.")
        }
        return UploadProgress(offset: offset, isComplete: answer.headers["upload-complete"] == "?1")
    }

    package func append(
        _ chunk: Data, to resource: String, at offset: Int64, isLast: Bool, token: String
    ) async throws(ChatError) {
        _ = try await request(
            "PATCH", try uploadURL(resource), token,
            Self.upload(isLast: isLast) + [
                ("Upload-Offset", String(offset)), ("Content-Type", "application/partial-upload"),
            ], chunk)
    }

    private static let version = ("Upload-Draft-Interop-Version", "6")

    private static func upload(isLast: Bool) -> [(String, String)] {
        [version, ("Upload-Complete", isLast ? "?1" : "?0")]
    }

    package func cancelUpload(_ resource: String, token: String) async throws(ChatError) {
        _ = try await request("DELETE", try uploadURL(resource), token, [Self.version])
    }

    /// Returns the URL of an upload, which the server may give as a path.
    ///
    /// The URL must be on this server, because requests to it contain the token.
    private func uploadURL(_ resource: String) throws(ChatError) -> URL {
        guard let url = resolvedURL(resource) else {
            throw ChatError(.internalError, "The server returned an upload location on another server.")
        }
        return url
    }

    /// Returns the client's URL for an address on the server; `nil` if it is on another server.
    ///
    /// The server doesn't know the path before `/v1` in the client's URLs, which a reverse proxy removes.
    private func resolvedURL(_ text: String) -> URL? {
        guard let url = URL(string: text, relativeTo: server)?.absoluteURL, url.host() == server.host(),
            url.port == server.port, url.scheme == server.scheme,
            let version = url.path().range(of: "/v1/", options: .backwards)
        else { return nil }
        let query = url.query().map { "?\($0)" } ?? ""
        return URL(
            string: "\(server.appending(path: "v1").absoluteString)/\(url.path()[version.upperBound...])\(query)")
    }

    package func setThumbnail(_ picture: Data, of media: MediaID, token: String) async throws(ChatError) {
        _ = try await request(
            "PUT", server.v1("media/\(media)/thumbnail"), token, [("Content-Type", "image/jpeg")], picture)
    }

    // MARK: Downloads

    package func read(
        _ source: MediaChunk.Source, from offset: Int64, upTo count: Int, ifStill hash: String?, token: String?
    ) async throws(ChatError) -> MediaChunk {
        var headers = [("Range", "bytes=\(offset)-\(offset + Int64(count) - 1)")]
        if let hash { headers.append(("If-Range", "\"\(hash)\"")) }
        let answer =
            switch source {
            case .media(let id):
                try await request("GET", server.v1("media/\(id)"), token, headers, limit: Self.largestAnswer)
            case .thumbnail(let id):
                try await request("GET", server.v1("media/\(id)/thumbnail"), token, headers, limit: Self.largestAnswer)
            case .remote(let url): try await requestFromOtherServer(url, headers)
            }
        let validator = answer.headers["etag"].flatMap { tag in
            tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count >= 2 ? String(tag.dropFirst().dropLast()) : nil
        }
        guard answer.status == 206 else {
            // A server without range requests returns the whole file.
            return MediaChunk(
                bytes: answer.body, offset: 0, size: Int64(answer.body.count), hash: validator, isLast: true)
        }
        guard let range = ContentRange(answer.headers["content-range"]), range.first == offset else {
            throw ChatError(.malformed, "The server returned another range of the file than requested.")
        }
        let (end, isBeyond) = offset.addingReportingOverflow(Int64(answer.body.count))
        guard !isBeyond else { throw ChatError(.malformed, "The file size exceeds the supported range.") }
        return MediaChunk(
            bytes: answer.body, offset: offset, size: range.size, hash: validator,
            isLast: range.size.map { end >= $0 } ?? (answer.body.count < count))
    }

    /// The maximum size of a response.
    ///
    /// Files of servers without range requests are refused above it.
    private static let largestAnswer = 32 << 20

    package func link(
        to media: MediaID, thumbnail: Bool, expiresIn seconds: Int?, token: String
    ) async throws(ChatError) -> URL {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("expiresIn", seconds)
            if thumbnail { writer.field("thumbnail", true) }
        }
        let answer = try await request(
            "POST", server.v1("media/\(media)/link"), token, [("Content-Type", "application/json")],
            Data(writer.bytes))
        var reader = try JSONReader(Array(answer.body))
        var link: String?
        try reader.object { (name, value) throws(ChatError) in
            if name == "url" { link = try value.string() } else { try value.skip() }
        }
        let text = try link.required("url")
        guard let url = resolvedURL(text) ?? URL(string: text, relativeTo: server)?.absoluteURL else {
            throw ChatError(.malformed, "The server's link is not a URL.")
        }
        return url
    }

    // MARK: Requests

    private func request(
        _ method: String, _ url: URL, _ token: String?, _ headers: [(String, String)], _ body: Data = Data(),
        limit: Int = 1 << 20
    ) async throws(ChatError) -> HTTPExchange.Answer {
        let authorization = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        let answer = try await http.exchange(
            HTTPExchange(method: method, url: url, headers: authorization + headers, body: body, answerLimit: limit))
        guard (200..<300).contains(answer.status) else { throw Self.error(answer, url) }
        return answer
    }

    /// Sends a request to a server other than the chat server, whose error bodies are ignored.
    private func requestFromOtherServer(_ url: URL, _ headers: [(String, String)]) async throws(ChatError)
        -> HTTPExchange.Answer
    {
        let answer = try await http.exchange(
            HTTPExchange(method: "GET", url: url, headers: headers, answerLimit: Self.largestAnswer))
        if (200..<300).contains(answer.status) { return answer }
        let message = "\(url.host() ?? "The server") answered with status \(answer.status)."
        throw switch answer.status {
        case 416: ChatError(.conflict, message)
        case 429: ChatError(.rateLimited, message, retryAfter: Self.retryAfter(answer))
        case 408, 500...: ChatError(.unreachable, message)
        default: ChatError(.unknownMedia, message)
        }
    }

    private static func retryAfter(_ answer: HTTPExchange.Answer) -> TimeInterval? {
        answer.headers["retry-after"].flatMap { Double($0) }.flatMap { TimeInterval(requested: $0) }
    }

    /// Returns the error of a response, with the server's message if it has one.
    private static func error(_ answer: HTTPExchange.Answer, _ url: URL) -> ChatError {
        // Offset out of range: not an invalid argument of the caller.
        if answer.status != 416,
            answer.headers["content-type"]?.hasPrefix("application/problem+json") == true,
            var reader = try? JSONReader(Array(answer.body)), let error = try? ChatError(problem: &reader)
        {
            return error
        }
        let host = url.host() ?? "The server"
        let message = "\(host) answered with status \(answer.status)."
        return switch answer.status {
        case 401: ChatError(.invalidToken, message)
        case 404, 410: ChatError(url.path().contains("/uploads/") ? .unknownUpload : .unknownMedia, message)
        case 409: ChatError(.conflict, message)
        case 413: ChatError(.mediaTooLarge, message)
        case 416: ChatError(.conflict, message)
        case 429: ChatError(.rateLimited, message, retryAfter: retryAfter(answer))
        case 500...: ChatError(.unreachable, message, retryAfter: retryAfter(answer))
        default: ChatError(.forbidden, message)
        }
    }
}

/// `Content-Range: bytes 0-99/1000` (RFC 9110 section 14.4).
private struct ContentRange {
    let first: Int64
    let size: Int64?

    init?(_ header: String?) {
        guard let parts = header?.split(separator: " "), parts.count == 2, parts[0] == "bytes" else { return nil }
        let halves = parts[1].split(separator: "/")
        guard halves.count == 2, let first = halves[0].split(separator: "-").first.flatMap({ Int64($0) }) else {
            return nil
        }
        self.first = first
        size = Int64(halves[1])
    }
}

extension URL {
    /// Returns the URL of an API path.
    fileprivate func v1(_ path: String, query: [(String, String)] = []) -> URL {
        let url = appending(path: "v1").appending(path: path)
        return query.isEmpty
            ? url : url.appending(queryItems: query.map { URLQueryItem(name: $0.0, value: $0.1) })
    }
}
