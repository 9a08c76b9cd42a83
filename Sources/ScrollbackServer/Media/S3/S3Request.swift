import Crypto
import Foundation
import NIOPosix
import ScrollbackModel

/// A request to a bucket.
struct S3Request: Sendable {
    /// The operations, by which the metrics count requests.
    enum Operation: String, CaseIterable, Sendable {
        case put, get, head, delete, list, multipart, copy
    }

    var operation: Operation
    var method: String
    /// The key of the object, or an empty text for the bucket.
    var key: String
    var query: [String: String] = [:]
    var headers: [(name: String, value: String)] = []
    var body = S3Body.bytes([])
    /// The number of bytes that the store copies, for the time limit.
    var copiedBytes: Int64 = 0
    /// The maximum number of bytes of the answer's body.
    var answerBytes = 1 << 20
}

/// The body of a request.
enum S3Body: Sendable {
    case bytes([UInt8])
    /// A part of a local file, which is not loaded into memory.
    case file(FilePart)

    /// Returns the SHA-256 of the body in hexadecimal digits.
    func hash() async throws(ChatError) -> String {
        switch self {
        case .bytes(let bytes): SHA256.hash(data: bytes).hexadecimal
        case .file(let part): try await part.hash()
        }
    }
}

/// The answer to a request.
struct S3Answer: Sendable {
    var status: Int
    /// The headers, with names in lower case.
    var headers: [String: String]
    var body: [UInt8]
}
