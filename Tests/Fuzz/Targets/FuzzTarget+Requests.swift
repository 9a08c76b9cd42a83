import Foundation
import HTTPTypes
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPictures
import ScrollbackServer
import ScrollbackWire
import TextAnalysis

// Requests of clients: frames, operations, queries, header fields and files.

extension FuzzTarget {
    static let frame = FuzzTarget("frame", "frames of clients", maximumBytes: 16_384) { bytes in
        if let hello = accepted({ () throws(ChatError) in try HelloFrame(bytes, limits: .standard) }) {
            let encoded = hello.encoded()
            let again = accepted { () throws(ChatError) in try HelloFrame(encoded, limits: .standard) }
            try checkEqual(encoded, again?.encoded() ?? [], "A hello frame")
        }
        guard let frame = try? RequestFrame(bytes) else { return }
        for operation in OperationRegistry.operation(frame: frame.type).map({ [$0] }) ?? [] {
            var reader = RequestReader(frame: frame.members, limits: .standard)
            guard let request = accepted({ () throws(ChatError) in try operation.init(from: &reader) }),
                let encoded = (request as? any FrameRequest)?.frame(ref: 1)
            else { continue }
            guard let copy = try? RequestFrame(encoded) else {
                throw FuzzFailure(description: "A client can't send \(encoded.text).")
            }
            reader = RequestReader(frame: copy.members, limits: .standard)
            let again = accepted { () throws(ChatError) in try operation.init(from: &reader) }
            try checkEqual(encoded, (again as? any FrameRequest)?.frame(ref: 1) ?? [], "A request")
        }
    }

    /// HTTP requests that an engine carries out, in the form `alice: POST /v1/path?query`, with the body in the second
    /// line.
    static let operation = FuzzTarget("operation", "HTTP requests that an engine carries out") { bytes in
        let scene = try EngineScene()
        var lines = bytes.lines(maxSplits: 7)[...]
        while let line = lines.popFirst() {
            try scene.request(line.text, body: lines.popFirst() ?? [])
        }
    }

    static let session = FuzzTarget(
        "session", "frames that a connection of an engine carries out, one in each line"
    ) { bytes in
        let scene = try EngineScene()
        try scene.connection(of: "alice", bytes.lines(maxSplits: 7))
    }

    static let query = FuzzTarget("query", "queries of URLs and history requests") { bytes in
        for plusIsSpace in [true, false] {
            let values = accepted { () throws(ChatError) in
                try QueryParameters.parse(bytes.text, plusIsSpace: plusIsSpace)
            }
            guard let values else { continue }
            _ = accepted { () throws(ChatError) in try HistoryParameters(values).query() }
        }
    }

    static let slackPayload = FuzzTarget(
        "slack-payload", "payloads of incoming webhooks", maximumBytes: 8192
    ) { bytes in
        guard let text = try? SlackPayload.text(of: bytes) else { return }
        try check(text.contains { !$0.isWhitespace }, "The payload has no text.")
        // A bullet of a list is longer than an element in JSON, but nothing is in the text twice.
        try check(text.utf8.count <= 3 * bytes.count, "The text has \(text.utf8.count) bytes.")
    }

    static let cursor = FuzzTarget("cursor", "decoded cursors") { bytes in
        let text = Data(bytes).base64URL
        let read = accepted { () throws(ChatError) in try PageCursor(HistoryCursor(rawValue: text)) }
        if let read {
            let again = accepted { () throws(ChatError) in try PageCursor(read.text) }
            try check(again?.text == read.text, "The cursor \(bytes.text) is not preserved.")
        }
        let query = SearchQuery("text")
        let cursor = SearchCursor(rawValue: bytes.text)
        if let position = accepted({ () throws(ChatError) in try cursor.position(of: query, by: .server) }) {
            try check(SearchCursor(position, of: query, by: .server) == cursor, "\(cursor) is not preserved.")
        }
    }

    /// A header field in each line.
    static let httpFields = FuzzTarget(
        "http-fields", "header fields of uploads and ranges", maximumBytes: 2048
    ) { bytes in
        var fields = HTTPFields()
        for line in bytes.lines(maxSplits: 16) {
            let parts = line.text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { continue }
            fields[name] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let upload = UploadFields(fields)
        try check((upload.offset ?? 0) >= 0 && (upload.length ?? 0) >= 0, "A number of the upload is negative.")
        _ = accepted { () throws(ChatError) in
            try UploadRequest(["conversation": ["group:crew"], "name": [fields[.contentDisposition] ?? "a"]], fields)
        }
        for size: Int64 in [0, 1, 1000, .max] {
            guard case .part(let range) = ByteRange(fields[.range], of: size) else { continue }
            try check(range.lowerBound >= 0 && range.upperBound < size, "The range \(range) is not in 0..<\(size).")
        }
    }

    static let picture = FuzzTarget("picture", "files that may be pictures", maximumBytes: 16_384) { bytes in
        let data = Data(bytes)
        for type in [MessageType.image, .gif, .file, .voice, .video] {
            _ = accepted { () throws(ChatError) in try MediaProperties(of: data, for: type) }
        }
        guard let file = try? PictureFile(data), let cleaned = try? file.cleaned() else { return }
        let again: PictureFile
        do {
            again = try PictureFile(cleaned)
        } catch {
            throw FuzzFailure(description: "The picture can't be read after it was cleaned: \(error)")
        }
        try check(
            again.header.width == file.header.width && again.header.height == file.header.height,
            "Cleaning changes the size from \(file.header.upright) to \(again.header.upright).")
        try check((try? again.cleaned()) == cleaned, "Cleaning a picture twice changes it twice.")
    }
}
