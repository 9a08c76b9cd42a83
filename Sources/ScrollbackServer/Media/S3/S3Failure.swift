import ScrollbackModel

/// The reason why a request to an S3-compatible store failed.
///
/// It never contains a signature, or a message of the store, which can quote the request.
struct S3Failure: Error, Sendable, CustomStringConvertible {
    let operation: S3Request.Operation
    /// The status of the answer, or `nil` if there was no complete answer.
    let status: Int?
    /// The store's code, such as `SlowDown`, or a description of the error of the connection.
    let code: String

    var description: String { "\(operation): \(status.map { "\($0) " } ?? "")\(code)" }

    private static let temporaryCodes: Set<String> = ["SlowDown", "RequestTimeout", "OperationAborted"]
    private static let quotaCodes: Set<String> = [
        "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded",
    ]

    var isStorageFull: Bool { status == 507 || Self.quotaCodes.contains(code) }

    /// Whether the same request can succeed soon.
    var isTemporary: Bool {
        guard let status else { return true }
        guard !isStorageFull else { return false }
        return status >= 500 && status != 501 || [408, 429].contains(status) || Self.temporaryCodes.contains(code)
    }

    /// Whether the object does not exist.
    var isMissing: Bool { status == 404 && code != "NoSuchBucket" }

    /// Whether the failure answers the request: the object does not exist, or it ends before the range.
    var isExpected: Bool { isMissing || status == 416 }

    /// The error for callers of the media store.
    var chatError: ChatError {
        if isStorageFull {
            return ChatError(.storageFull, "The store of files has no space left.", cause: self)
        }
        if isTemporary {
            return ChatError(
                .overloaded, "The store of files is not available. Try again later.", retryAfter: 1, cause: self)
        }
        return ChatError(.internalError, "The file can't be read or written.", cause: self)
    }
}

extension ChatError {
    /// The failed request to the store of files that caused this error.
    var s3Failure: S3Failure? { cause as? S3Failure }
}
