import ScrollbackModel

/// Lists of keys.
extension S3Client {
    /// One page of a list.
    struct Page: Sendable {
        var keys: [String] = []
        /// The beginnings of keys up to the delimiter, if there is one.
        var folders: [String] = []
        /// The token of the next page, if there is one.
        var next: String?
    }

    /// Returns a page of the keys that begin with a text, in the order of their bytes.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the keys.
    ///   - after: The key after which the first page begins.
    ///   - delimiter: A text at which keys are cut. All keys with the same beginning then become one folder.
    ///   - limit: The maximum number of keys and folders, at most 1000.
    ///   - token: The token of the page, or `nil` for the first one.
    func list(
        _ prefix: String, after: String? = nil, delimiter: String? = nil, limit: Int = 1000, token: String? = nil
    ) async throws(ChatError) -> Page {
        var query = ["list-type": "2", "prefix": prefix, "max-keys": String(limit)]
        query["start-after"] = after
        query["delimiter"] = delimiter
        query["continuation-token"] = token
        let answer = try await send(
            S3Request(operation: .list, method: "GET", key: "", query: query, answerBytes: 8 << 20))
        guard let document = try? S3Document(answer.body),
            let isTruncated = document.values(at: "ListBucketResult/IsTruncated").first
        else { throw S3Failure(operation: .list, status: answer.status, code: "not a list of keys").chatError }
        let next = document.values(at: "ListBucketResult/NextContinuationToken").first
        // Without a token, the rest of the keys would seem not to exist.
        guard isTruncated == "false" || next != nil else {
            throw S3Failure(operation: .list, status: answer.status, code: "an incomplete list without a token")
                .chatError
        }
        return Page(
            keys: document.values(at: "ListBucketResult/Contents/Key"),
            folders: document.values(at: "ListBucketResult/CommonPrefixes/Prefix"),
            next: isTruncated == "false" ? nil : next)
    }

    /// Returns all pages of a list together.
    func listAll(_ prefix: String, delimiter: String? = nil) async throws(ChatError) -> Page {
        var all = Page()
        repeat {
            let page = try await list(prefix, delimiter: delimiter, token: all.next)
            all.keys += page.keys
            all.folders += page.folders
            all.next = page.next
        } while all.next != nil
        return all
    }
}
