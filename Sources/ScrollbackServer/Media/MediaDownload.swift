import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// A media file or a thumbnail as the response to a GET request.
struct MediaDownload: Sendable {
    /// The number of bytes that are read and written at a time.
    private static let partBytes = 256 << 10

    let blob: BlobID
    let mediaType: String
    let size: Int64
    let name: String?
    let caching: String
    private let tag: EntityTag

    init(of row: MediaRow) {
        blob = row.blob
        mediaType = row.mediaType
        size = row.size
        name = row.name
        caching = "private, max-age=86400, immutable"
        tag = EntityTag(of: blob)
    }

    /// Creates the response for a thumbnail, or `nil` if the file has none.
    init?(ofThumbnailOf row: MediaRow) {
        guard let thumbnail = row.thumbnail else { return nil }
        blob = thumbnail.blob
        mediaType = thumbnail.mediaType
        size = thumbnail.size
        name = nil
        // The thumbnail can change.
        caching = "private, max-age=3600"
        tag = EntityTag(of: blob)
    }

    /// Returns what a request gets, without the bytes of the file.
    func answer(to request: Request) -> Answer {
        var headers: HTTPFields = [
            .eTag: tag.text, .acceptRanges: "bytes", .cacheControl: caching, .contentType: mediaType,
            .contentDisposition: disposition, .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'",
        ]
        if tag.isListed(in: request.headers[.ifNoneMatch]) {
            headers[.contentType] = nil
            headers[.contentDisposition] = nil
            return Answer(download: self, response: Response(status: .notModified, headers: headers))
        }
        // Ignore the range if the client has a part of another version. The server sends only entity tags, so it
        // ignores dates.
        let isSame = request.headers[.ifRange].map { $0 == tag.text } ?? true
        // A HEAD request ignores the range.
        let isGet = request.method == .get
        let wanted = isSame && isGet ? ByteRange(request.headers[.range], of: size) : .whole
        let range: Range<Int64>
        switch wanted {
        case .whole: range = 0..<size
        case .part(let places):
            range = Range(places)
            headers[.contentRange] = "bytes \(places.lowerBound)-\(places.upperBound)/\(size)"
        case .unsatisfiable:
            var error = ChatError.invalidParameter("Range", "starts after the end of the file, which has \(size) bytes")
            error.status = 416
            var response = error.response
            response.headers[.contentRange] = "bytes */\(size)"
            return Answer(download: self, response: response)
        }
        headers[.contentLength] = String(range.count)
        let response = Response(status: headers[.contentRange] == nil ? .ok : .partialContent, headers: headers)
        return Answer(
            download: self, response: response, range: range, isSmall: range.count <= Self.partBytes && isGet)
    }

    private static var endsEarly: ChatError { ChatError(.internalError, "The content of the file ends early.") }

    /// Returns a body with bytes that have been read.
    fileprivate func body(with bytes: [UInt8], count: Int, _ engine: Engine) throws(ChatError) -> ResponseBody {
        guard bytes.count == count else { throw Self.endsEarly }
        engine.mediaCounts.sentBytes.wrappingAdd(count, ordering: .relaxed)
        return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
    }

    /// Returns a body whose bytes are read now.
    func bufferedBody(
        at first: Int64, count: Int64, _ engine: Engine, _ owner: WorkOwner
    ) async throws(ChatError) -> ResponseBody {
        let bytes = try await engine.media.serving(owner).read(blob, at: first, count: Int(count))
        return try body(with: bytes, count: Int(count), engine)
    }

    /// Returns a body whose bytes are read while they are sent.
    func body(
        at first: Int64, count: Int64, _ engine: Engine, _ owner: WorkOwner
    ) async throws(ChatError) -> ResponseBody {
        let file = try await engine.media.serving(owner).open(blob)
        return ResponseBody(contentLength: Int(count)) { writer in
            var place = first
            while place < first + count {
                // Read each part after the previous one was sent, so that a slow client uses memory for only one part.
                let bytes = try await file.read(
                    at: place, count: Int(min(Int64(Self.partBytes), first + count - place)))
                guard !bytes.isEmpty else { throw Self.endsEarly }
                try await writer.write(ByteBuffer(bytes: bytes))
                place += Int64(bytes.count)
                engine.mediaCounts.sentBytes.wrappingAdd(bytes.count, ordering: .relaxed)
            }
            try await writer.finish(nil)
        }
    }

    // MARK: Names (RFC 6266, RFC 8187)

    /// Browsers display safe types and download all others.
    private var disposition: String {
        let kind = FileType(mediaType).isSafeToShow ? "inline" : "attachment"
        guard let name else { return kind }
        let plain = String(
            name.unicodeScalars.map { scalar -> Character in
                (0x20...0x7E).contains(scalar.value) && !#""\%/"#.unicodeScalars.contains(scalar)
                    ? Character(scalar) : "_"
            })
        guard plain != name else { return #"\#(kind); filename="\#(plain)""# }
        let encoded = name.addingPercentEncoding(withAllowedCharacters: Self.attributeCharacters) ?? plain
        return #"\#(kind); filename="\#(plain)"; filename*=UTF-8''\#(encoded)"#
    }

    private static let attributeCharacters = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&+-.^_`|~")
}

extension MediaDownload {
    /// The response to a request, with its body or with the part of the file that will be its body.
    struct Answer: Sendable {
        fileprivate let download: MediaDownload
        fileprivate var response: Response
        /// The part of the file that is the body; `nil` if the response is complete.
        fileprivate var range: Range<Int64>?
        /// Whether the part is read at once, and not while it is sent.
        fileprivate var isSmall = false

        /// Reads a small body, if the files are on this machine.
        ///
        /// The calling thread may have to wait for the disk.
        mutating func readSmallBody(_ engine: Engine) throws(ChatError) {
            guard isSmall, let range,
                let bytes = try engine.media.readNow(download.blob, at: range.lowerBound, count: range.count)
            else { return }
            response.body = try download.body(with: bytes, count: range.count, engine)
            self.range = nil
        }

        /// Returns the response, after opening or reading the file if that has not been done.
        func response(_ engine: Engine, for owner: WorkOwner) async throws(ChatError) -> Response {
            guard let range else { return response }
            var response = response
            let (first, count) = (range.lowerBound, Int64(range.count))
            response.body =
                isSmall
                ? try await download.bufferedBody(at: first, count: count, engine, owner)
                : try await download.body(at: first, count: count, engine, owner)
            return response
        }
    }
}

/// A `Range` header with a single byte range (RFC 9110 section 14.2).
///
/// Invalid and other ranges are ignored.
package enum ByteRange: Equatable {
    case whole
    case part(ClosedRange<Int64>)
    case unsatisfiable

    package init(_ header: String?, of size: Int64) {
        self = .whole
        guard let header, header.lowercased().hasPrefix("bytes="), case let spec = header.dropFirst(6),
            // An empty file is always sent whole.
            size > 0, !spec.contains(","), let dash = spec.firstIndex(of: "-")
        else { return }
        let (before, after) = (spec[..<dash], spec[spec.index(after: dash)...])
        guard let first = Self.number(before), let last = Self.number(after) else { return }
        switch (first, last) {
        case (nil, nil): return
        case (nil, let count?):
            self = count > 0 ? .part(max(0, size - count)...size - 1) : .unsatisfiable
        case (let first?, let last):
            if let last, last < first { return }
            self = first < size ? .part(first...min(last ?? size - 1, size - 1)) : .unsatisfiable
        }
    }

    /// Parses one bound of the range.
    ///
    /// - Returns: `nil` if the text is not a number, and `.some(nil)` if the text is empty.
    private static func number(_ text: Substring) -> Int64?? {
        let text = text.filter { $0 != " " }
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.utf8.count <= 18 else { return nil }
        return Int64(text)
    }
}
