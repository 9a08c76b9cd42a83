import ScrollbackModel

/// Uploads of large objects in parts.
extension S3Client {
    /// The maximum number of parts of an object.
    private static let maximumParts: Int64 = 10_000

    /// Stores an object from a local file in parts, which appears when all parts are stored.
    ///
    /// If this fails, the stored parts are removed. After a crash, they remain until the store removes them, for which
    /// the bucket needs a rule.
    ///
    /// - Parameter partBytes: The size of a part, at least 5 MiB. A very large file gets larger parts.
    func putParts(of file: FilePart, partBytes: Int64, as key: String) async throws(ChatError) {
        let begun = try await send(
            S3Request(operation: .multipart, method: "POST", key: key, query: ["uploads": ""]))
        guard
            let upload = (try? S3Document(begun.body))?.values(at: "InitiateMultipartUploadResult/UploadId").first
        else { throw S3Failure(operation: .multipart, status: begun.status, code: "without an upload ID").chatError }
        do throws(ChatError) {
            let partBytes = max(partBytes, (file.count + Self.maximumParts - 1) / Self.maximumParts)
            var tags: [String] = []
            var place: Int64 = 0
            while place < file.count {
                let part = FilePart(
                    file: file.file, offset: file.offset + place, count: min(partBytes, file.count - place),
                    threads: file.threads)
                let answer = try await send(
                    S3Request(
                        operation: .multipart, method: "PUT", key: key,
                        query: ["partNumber": String(tags.count + 1), "uploadId": upload], body: .file(part)))
                guard let tag = answer.headers["etag"] else {
                    throw S3Failure(operation: .multipart, status: answer.status, code: "without an ETag").chatError
                }
                tags.append(tag)
                place += part.count
            }
            try await complete(upload, of: key, tags, size: file.count)
        } catch {
            _ = try? await send(
                S3Request(operation: .multipart, method: "DELETE", key: key, query: ["uploadId": upload]))
            throw error
        }
    }

    private func complete(
        _ upload: String, of key: String, _ tags: [String], size: Int64
    ) async throws(ChatError) {
        let parts = tags.enumerated().map { index, tag in
            "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(Self.escaped(tag))</ETag></Part>"
        }
        let body = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        do throws(ChatError) {
            _ = try await send(
                S3Request(
                    operation: .multipart, method: "POST", key: key, query: ["uploadId": upload],
                    body: .bytes(Array(body.utf8))))
        } catch {
            // If the answer to a first attempt was lost, the upload does not exist anymore.
            guard error.s3Failure?.isMissing ?? false, try await self.size(of: key) == size else { throw error }
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
