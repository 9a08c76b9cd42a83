import CEmbeddedFiles
import CZlib
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackModel

/// A file of the folder `Web`, which is part of the program.
package struct WebFile: Sendable {
    /// All files, in the order of their paths.
    package static let all: [WebFile] = sources.map { WebFile(path: $0.path, source: $0.bytes) }

    /// The version of all files.
    ///
    /// The pages refer to paths with this version, so that browsers need not ask whether a file changed.
    package static let version = digest(of: sources)

    static let methods: [HTTPRequest.Method] = [.get, .head]

    /// The path and the bytes of each file.
    ///
    /// The links of a page have no version.
    private static let sources: [(path: String, bytes: [UInt8])] =
        UnsafeBufferPointer(start: embedded_web.files, count: embedded_web.count).map { file in
            let path = String(cString: file.path)
            let source = UnsafeBufferPointer(start: file.content.bytes, count: file.content.count)
            return (path, path.hasSuffix(".js") ? compacted(source) : Array(source))
        }

    /// The path at which the server offers the file.
    package let path: String
    /// The bytes that browsers get.
    package let bytes: [UInt8]
    private let compressed: [UInt8]
    private let hash: String

    private init(path: String, source: [UInt8]) {
        self.path = path
        bytes = Self.pages.contains(path) ? Self.addingVersion(toLinksOf: source) : source
        compressed = Self.gzip(bytes)
        hash = Self.digest(bytes)
    }

    /// Returns a digest of the paths and the bytes of files: 16 letters, digits, `-` and `_`.
    package static func digest(of files: [(path: String, bytes: [UInt8])]) -> String {
        digest(Array(files.map { "\(digest($0.bytes)) \($0.path)\n" }.joined().utf8))
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        Data(SHA256.hash(data: bytes)).prefix(12).base64URL
    }

    /// Returns the response to a request for the file.
    ///
    /// If the path has the current version, browsers keep the file. Otherwise, they ask each time whether it changed. A
    /// path can have another version because a page from before an update of the server loads further files.
    ///
    /// - Parameters:
    ///   - version: The version in the path of the request. `nil` if the path has none.
    ///   - origins: The origins whose pages may embed the chat page.
    func response(to request: Request, version: String?, embeddedBy origins: AllowedOrigins) -> Response {
        let isCompressed = Self.acceptsGzip(request.headers[.acceptEncoding])
        // A strong tag names one sequence of bytes, and so one encoding.
        let tag = EntityTag(isCompressed ? "\(hash)-gzip" : hash)
        let cacheControl = version == Self.version ? "public, max-age=31536000, immutable" : "no-cache"
        var headers: HTTPFields = [.eTag: tag.text, .cacheControl: cacheControl, .vary: "Accept-Encoding"]
        if isPage { headers.append(contentsOf: pageFields(embeddedBy: origins)) }
        if tag.isListed(in: request.headers[.ifNoneMatch]) { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = mediaType
        if isCompressed { headers[.contentEncoding] = "gzip" }
        return Response(
            status: .ok, headers: headers,
            body: .init(byteBuffer: ByteBuffer(bytes: isCompressed ? compressed : bytes)))
    }

    /// Whether the file belongs to the admin page.
    package var isForAdministrators: Bool { path == "/admin" || path.hasPrefix("/admin/") }

    // MARK: Paths

    private static let pages: Set = ["/", "/admin"]

    private var isPage: Bool { Self.pages.contains(path) }

    /// The templates of the paths at which the server offers the file: without a version and with any version.
    ///
    /// Pages have no path with a version, because browsers must ask for them to find a new version.
    var templates: [String] { isPage ? [path] : [path, "/v/{version}\(path)"] }

    /// Whether the server offers the file at a path, which may have a version.
    func isOffered(at other: String) -> Bool {
        if other == path { return true }
        guard !isPage, other.hasPrefix("/v/"), other.hasSuffix(path) else { return false }
        let version = other.dropFirst("/v/".count).dropLast(path.count)
        return !version.isEmpty && !version.contains("/")
    }

    /// Returns a page that refers to files of the current version.
    ///
    /// Links of the chat page are relative, because a proxy can offer it below another path. Those of the admin page
    /// begin with a slash.
    private static func addingVersion(toLinksOf page: [UInt8]) -> [UInt8] {
        let text = String(decoding: page, as: UTF8.self)
        return Array(text.replacing(/\b(href|src)="(\/?)/) { "\($0.1)=\"\($0.2)v/\(version)/" }.utf8)
    }

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

    /// Returns a script without its indentation and without the lines that are comments, which are half of its size.
    ///
    /// These lines become empty, so that errors have the line numbers of the source. A comment after code stays.
    /// A test of `Web/tests` checks that no text in a script has several lines, which this would change.
    private static func compacted(_ script: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        let (newline, star, slash) = (UInt8(ascii: "\n"), UInt8(ascii: "*"), UInt8(ascii: "/"))
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") }
        var (isInComment, isFirst) = (false, true)
        var result: [UInt8] = []
        result.reserveCapacity(script.count)
        for line in script.split(separator: newline, omittingEmptySubsequences: false) {
            if !isFirst { result.append(newline) }
            isFirst = false
            let text = line.drop(while: isSpace)
            if !isInComment {
                if text.starts(with: "//".utf8) { continue }
                isInComment = text.starts(with: "/*".utf8)
            }
            if !isInComment {
                result.append(contentsOf: text)
            } else if let end = line.indices.dropLast().first(where: { line[$0] == star && line[$0 + 1] == slash }) {
                isInComment = false
                result.append(contentsOf: line[(end + 2)...].drop(while: isSpace))
            }
        }
        return result
    }

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
