package import HTTPTypes
import Hummingbird
import RawStructuredFieldValues
import ScrollbackEngine
import ScrollbackModel

/// The header fields of a resumable upload.
///
/// Supports draft-ietf-httpbis-resumable-upload with interop versions 3 to 6 (drafts 01 to 05). A request with another
/// version is a plain upload.
package struct UploadFields: Sendable {
    /// The interop version in 3...6, or `nil` for a plain upload.
    var version: Int?
    /// Whether the upload ends with this request.
    var isEnd: Bool?
    package private(set) var offset: Int64?
    package private(set) var length: Int64?

    package init(_ headers: HTTPFields) {
        let number = Self.number(headers[.uploadVersion]).flatMap { Int(exactly: $0) }
        version = number.flatMap { (3...6).contains($0) ? $0 : nil }
        isEnd = version == 3 ? Self.flag(headers[.uploadIncomplete]).map { !$0 } : Self.flag(headers[.uploadComplete])
        offset = Self.number(headers[.uploadOffset])
        length = Self.number(headers[.uploadLength])
    }

    /// Whether the request starts a resumable upload.
    var isResumable: Bool { version != nil && isEnd != nil }

    // MARK: Items (RFC 9651 section 3.3), whose parameters are ignored

    private static func item(_ text: String?) -> RFC9651BareItem? {
        var parser = StructuredFieldValueParser(Array((text ?? "").utf8))
        return try? parser.parseItemFieldValue().rfc9651BareItem
    }

    private static func number(_ text: String?) -> Int64? {
        guard case .integer(let number) = item(text), number >= 0 else { return nil }
        return number
    }

    private static func flag(_ text: String?) -> Bool? {
        guard case .bool(let flag) = item(text) else { return nil }
        return flag
    }

    // MARK: Responses

    /// The state of an upload as header fields of the request's interop version.
    func state(of row: UploadRow, isDone: Bool = false, in engine: Engine) -> HTTPFields {
        var fields = HTTPFields()
        if let version { fields[.uploadVersion] = String(version) }
        fields[.uploadOffset] = String(row.offset)
        if version == 3 {
            fields[.uploadIncomplete] = isDone ? "?0" : "?1"
        } else {
            fields[.uploadComplete] = isDone ? "?1" : "?0"
        }
        if version == 6 { fields[.uploadLimit] = Self.limit(engine.settings.mediaLimits, row.type) }
        return fields
    }

    /// The `Upload-Limit` field: size limits in bytes and the lifetime of an upload in seconds.
    static func limit(_ limits: MediaLimits, _ type: MessageType = .file) -> String {
        """
        max-size=\(type == .gif ? limits.gifBytes : limits.fileBytes), min-size=0, \
        expires=\(Int(Engine.uploadLifetime))
        """
    }

    static func location(of id: UploadID) -> String { "/v1/uploads/\(id)" }
}

extension HTTPField.Name {
    private static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is not a valid field name.") }
        return name
    }

    static let uploadVersion = known("Upload-Draft-Interop-Version")
    static let uploadComplete = known("Upload-Complete")
    static let uploadIncomplete = known("Upload-Incomplete")
    static let uploadOffset = known("Upload-Offset")
    static let uploadLength = known("Upload-Length")
    static let uploadLimit = known("Upload-Limit")
    static let reprDigest = known("Repr-Digest")
}

extension HTTPResponse.Status {
    static let uploadResumptionSupported = HTTPResponse.Status(
        code: 104, reasonPhrase: "Upload Resumption Supported")
}
