import Foundation
import ScrollbackModel

extension S3Client {
    /// Checks the bucket and the credentials: lists keys, and stores, reads and deletes a test object.
    ///
    /// - Throws: `invalid-parameter` for the option `files`, with the reason and the fix.
    func check() async throws(ChatError) {
        let key = "\(location.prefix)checks/\(UUID().uuidString.lowercased())"
        let content = Array(key.utf8)
        do throws(ChatError) {
            _ = try await list(location.prefix, limit: 1)
            try await put(.bytes(content), as: key)
            let stored = try await get(key, at: 0, count: content.count)?.bytes
            try await delete(key)
            guard stored == content else {
                throw ChatError.invalidParameter(
                    "files",
                    "names a store that does not return an object right after it was stored: \(location.endpoint)")
            }
        } catch {
            throw error.s3Failure.map { .invalidParameter("files", reason(for: $0)) } ?? error
        }
    }

    private func reason(for failure: S3Failure) -> String {
        let (bucket, endpoint) = (location.bucket, location.endpoint)
        let answer = "\(endpoint) answers \(failure.code)"
        guard let status = failure.status else {
            return "names a store that can't be reached at \(endpoint): \(failure.code)"
        }
        switch (status, failure.code) {
        case (404, _):
            return "names the bucket \(bucket), which does not exist at \(endpoint). Create it, or correct the name"
        case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"):
            // Some stores use the second code for an unknown access key, too.
            return "can't be used with this AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: \(answer). Correct them"
        case (_, "InvalidToken"), (_, "ExpiredToken"):
            return "can't be used with this AWS_SESSION_TOKEN: \(answer). Set a new one, with its access key"
        case (_, "RequestTimeTooSkewed"):
            return "can't be used, because the clock of this machine differs from the clock of \(endpoint). Correct it"
        case (300..<400, _), (_, "AuthorizationHeaderMalformed"):
            return "has another region or endpoint than the bucket \(bucket): \(answer). Correct region= or endpoint="
        case (401, _), (403, _):
            return "names the bucket \(bucket), which the access key may not use: \(answer) to \(failure.operation). "
                + "Allow it to list the bucket, and to get, put and delete objects"
        default:
            return "names a store that can't be used: \(answer) to \(failure.operation), with the status \(status)"
        }
    }
}
