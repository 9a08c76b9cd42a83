import ScrollbackModel

/// Operations on objects.
extension S3Client {
    /// Stores an object, or replaces it.
    func put(_ body: S3Body, as key: String) async throws(ChatError) {
        _ = try await send(S3Request(operation: .put, method: "PUT", key: key, body: body))
    }

    /// Reads a part of an object.
    ///
    /// - Parameter count: The number of bytes, at least 1.
    /// - Returns: The bytes and the size of the object, or `nil` if it does not exist. The bytes are fewer than `count`
    ///   only at its end.
    func get(_ key: String, at offset: Int64, count: Int) async throws(ChatError) -> (bytes: [UInt8], size: Int64)? {
        let request = S3Request(
            operation: .get, method: "GET", key: key,
            headers: [("range", "bytes=\(offset)-\(offset + Int64(count) - 1)")],
            // The text of an error can be longer than the part.
            answerBytes: max(count, 1 << 16))
        let answer: S3Answer
        do throws(ChatError) {
            answer = try await send(request)
        } catch {
            guard let failure = error.s3Failure else { throw error }
            if failure.isMissing { return nil }
            // The range begins at the end of the object, or after it.
            if failure.status == 416 { return try await size(of: key).map { ([], $0) } }
            throw error
        }
        // A store may answer with the whole object if the range covers it.
        let size: Int64?
        if answer.status == 206 {
            size = answer.headers["content-range"]?.split(separator: "/").last.flatMap { Int64($0) }
        } else {
            size = offset == 0 ? Int64(answer.body.count) : nil
        }
        guard let size, Int64(answer.body.count) == min(Int64(count), size - offset) else {
            throw S3Failure(operation: .get, status: answer.status, code: "another part than the requested one")
                .chatError
        }
        return (answer.body, size)
    }

    /// Returns the size of an object, or `nil` if it does not exist.
    func size(of key: String) async throws(ChatError) -> Int64? {
        let answer: S3Answer
        do throws(ChatError) {
            answer = try await send(S3Request(operation: .head, method: "HEAD", key: key))
        } catch {
            if error.s3Failure?.isMissing ?? false { return nil }
            throw error
        }
        guard let size = answer.headers["content-length"].flatMap({ Int64($0) }) else {
            throw S3Failure(operation: .head, status: answer.status, code: "without a length").chatError
        }
        return size
    }

    /// Copies an object of at most 5 GiB within the bucket.
    ///
    /// - Returns: `false` if the object does not exist.
    func copy(_ key: String, to target: String) async throws(ChatError) -> Bool {
        guard let size = try await size(of: key) else { return false }
        let source = S3Signature.path(ofBucket: location.bucket, key: key)
        let answer: S3Answer
        do throws(ChatError) {
            answer = try await send(
                S3Request(
                    operation: .copy, method: "PUT", key: target, headers: [("x-amz-copy-source", source)],
                    copiedBytes: size))
        } catch {
            if error.s3Failure?.isMissing ?? false { return false }
            throw error
        }
        // A copy can fail after the store began its answer with the status 200.
        guard let document = try? S3Document(answer.body), !document.values(at: "CopyObjectResult/ETag").isEmpty else {
            throw S3Failure(operation: .copy, status: answer.status, code: "without an ETag").chatError
        }
        return true
    }

    /// Deletes an object, if it exists.
    func delete(_ key: String) async throws(ChatError) {
        do throws(ChatError) {
            _ = try await send(S3Request(operation: .delete, method: "DELETE", key: key))
        } catch {
            guard error.s3Failure?.isMissing ?? false else { throw error }
        }
    }

    /// Deletes objects, several at a time.
    func delete(_ keys: [String]) async throws(ChatError) {
        var rest = keys[...]
        while !rest.isEmpty {
            let result: Result<Void, ChatError> = await withTaskGroup { group in
                for key in rest.prefix(8) {
                    group.addTask { await Result { () async throws(ChatError) in try await self.delete(key) } }
                }
                return await group.reduce(.success(())) { first, next in first.flatMap { next } }
            }
            try result.get()
            rest = rest.dropFirst(8)
        }
    }
}

extension Result where Success: Sendable {
    /// Creates a result from an asynchronous function that can throw.
    fileprivate init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
