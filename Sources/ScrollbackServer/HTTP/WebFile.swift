import CEmbeddedFiles
import CZlib
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackModel

/// A file that the server offers to browsers.
///
/// `scripts/bundle-web.py` makes the files from the folder `Web`.
package struct WebFile: Sendable {
    /// All files, in the order of their paths.
    package static let all = UnsafeBufferPointer(start: embedded_web.files, count: embedded_web.count).map { file in
        let bytes = UnsafeBufferPointer(start: file.content.bytes, count: file.content.count)
        return WebFile(path: String(cString: file.path), bytes: Array(bytes))
    }

    static let methods: [HTTPRequest.Method] = [.get, .head]

    /// The path at which the server offers the file.
    package let path: String
    package let bytes: [UInt8]
    /// Whether the name contains a hash of the content.
    ///
    /// Browsers keep such a file. They ask each time whether another file changed.
    package let hasHashInName: Bool
    private let compressed: [UInt8]
    private let hash: String

    private init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
        hasHashInName = path.contains(/-[0-9A-Z]{8}\.(css|js)$/)
        compressed = Self.gzip(bytes)
        hash = Data(SHA256.hash(data: bytes)).prefix(12).base64URL
    }

    /// Returns the response to a request for the file.
    ///
    /// - Parameter origins: The origins whose pages may embed the chat page.
    func response(to request: Request, embeddedBy origins: AllowedOrigins) -> Response {
        let isCompressed = Self.acceptsGzip(request.headers[.acceptEncoding])
        // A strong tag names one sequence of bytes, and so one encoding.
        let tag = EntityTag(isCompressed ? "\(hash)-gzip" : hash)
        let cacheControl = hasHashInName ? "public, max-age=31536000, immutable" : "no-cache"
        var headers: HTTPFields = [.eTag: tag.text, .cacheControl: cacheControl, .vary: "Accept-Encoding"]
        if isPage { headers.append(contentsOf: pageFields(embeddedBy: origins)) }
        if tag.isListed(in: request.headers[.ifNoneMatch]) { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = mediaType
        if isCompressed { headers[.contentEncoding] = "gzip" }
        return Response(
            status: .ok, headers: headers,
            body: .init(byteBuffer: ByteBuffer(bytes: isCompressed ? compressed : bytes)))
    }

    private var isPage: Bool { path == "/" || path == "/admin" }

    /// Whether the file belongs to the admin page.
    package var isForAdministrators: Bool { path == "/admin" || path.hasPrefix("/admin/") }

    // MARK: Header fields

    private var mediaType: String {
        switch path.split(separator: ".").last {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        case "ts": "application/typescript; charset=utf-8"
        default: "text/html; charset=utf-8"
        }
    }

    /// What browsers permit a page: it runs only scripts of the server, and loads nothing from another origin.
    ///
    /// The admin page can't be framed. Trusted types make browsers refuse to parse a text as HTML.
    private func pageFields(embeddedBy origins: AllowedOrigins) -> HTTPFields {
        let isAdminPage = path == "/admin"
        let policy = """
            default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; \
            connect-src 'self'; frame-src 'self'; \
            frame-ancestors \(isAdminPage ? "'none'" : origins.embeddingSources); base-uri 'none'; \
            form-action 'none'; require-trusted-types-for 'script'
            """
        var fields: HTTPFields = [.contentSecurityPolicy: policy, .referrerPolicy: "no-referrer"]
        if isAdminPage { fields[.crossOriginOpenerPolicy] = "same-origin" }
        return fields
    }

    // MARK: Content

    /// Whether a client accepts gzip (RFC 9110 section 12.5.3).
    private static func acceptsGzip(_ field: String?) -> Bool {
        (field ?? "").split(separator: ",").contains { coding in
            let parts = coding.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            let isRefused = parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
            return parts.first == "gzip" && !isRefused
        }
    }

    private static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        var input = bytes
        var state = z_stream()
        // A window size above 16 selects the gzip format (RFC 1952).
        let status = deflateInit2_(
            &state, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        precondition(status == Z_OK, "zlib can't compress: \(status)")
        defer { deflateEnd(&state) }
        return [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&state, uLong(bytes.count)))) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                state.next_in = input.baseAddress
                state.avail_in = uInt(input.count)
                state.next_out = output.baseAddress
                state.avail_out = uInt(output.count)
                let status = deflate(&state, Z_FINISH)
                precondition(status == Z_STREAM_END, "zlib can't compress: \(status)")
                count = output.count - Int(state.avail_out)
            }
        }
    }
}

extension HTTPField.Name {
    private static func known(_ name: String) -> Self {
        guard let name = Self(name) else { preconditionFailure("\(name) is not a valid field name.") }
        return name
    }
    fileprivate static let crossOriginOpenerPolicy = known("Cross-Origin-Opener-Policy")
    fileprivate static let referrerPolicy = known("Referrer-Policy")
}
