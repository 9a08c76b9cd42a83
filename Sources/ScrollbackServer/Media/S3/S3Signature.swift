import Crypto
import Foundation
import ScrollbackModel

/// Signature Version 4 of Amazon Web Services, for the service `s3`.
enum S3Signature {
    /// The parts of a request that the signature covers.
    struct Request: Sendable {
        var method: String
        /// The encoded path.
        var path: String
        /// The query as ``query(_:)`` encodes it.
        var query: String
        /// The headers to sign, with names in lower case.
        ///
        /// `host` must be among them.
        var headers: [(name: String, value: String)]
        /// The SHA-256 of the body in hexadecimal digits.
        var payload: String
    }

    /// Returns the value of the `Authorization` header.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - region: The region of the bucket.
    ///   - time: The value of the `x-amz-date` header, as ``time(_:)`` formats it.
    ///   - credentials: The access key.
    static func authorization(
        of request: Request, region: String, time: String, credentials: S3Credentials
    ) -> String {
        let headers = request.headers.sorted { $0.name < $1.name }
        let names = headers.map(\.name).joined(separator: ";")
        let lines = headers.map { "\($0.name):\(trimmed($0.value))\n" }.joined()
        let canonical = [request.method, request.path, request.query, lines, names, request.payload]
            .joined(separator: "\n")
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/s3/aws4_request"
        let text = ["AWS4-HMAC-SHA256", time, scope, SHA256.hash(data: Data(canonical.utf8)).hexadecimal]
            .joined(separator: "\n")
        var key = SymmetricKey(data: Data("AWS4\(credentials.secretKey)".utf8))
        for part in [day, region, "s3", "aws4_request"] { key = SymmetricKey(data: code(of: part, key)) }
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), "
            + "Signature=\(code(of: text, key).hexadecimal)"
    }

    private static func code(of text: String, _ key: SymmetricKey) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
    }

    private static func trimmed(_ value: String) -> String { value.split(separator: " ").joined(separator: " ") }

    /// Formats a time as `20261126T230509Z`.
    static func time(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
    }

    /// Encodes the path of an object, or of its bucket if the key is empty.
    static func path(ofBucket bucket: String, key: String) -> String {
        "/\(bucket)" + (key.isEmpty ? "" : "/\(encode(key, keepingSlashes: true))")
    }

    /// Encodes all bytes of a text except letters, digits and `-._~`.
    ///
    /// - Parameter keepingSlashes: Whether slashes stay, as in a path.
    private static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case 0x2F where keepingSlashes: encoded += "/"
            default: encoded += "%" + [byte].hexadecimal.uppercased()
            }
        }
        return encoded
    }

    /// Encodes the items of a query in the order that the signature requires.
    static func query(_ items: [String: String]) -> String {
        items.map { (encode($0.key), encode($0.value)) }.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }
}
