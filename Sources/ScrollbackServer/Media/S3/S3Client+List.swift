import Foundation
import ScrollbackModel

/// Lists of keys.
extension S3Client {
    /// An object in a list.
    struct ListedObject: Sendable {
        var key: String
        /// How many seconds before the answer the object was stored, by the clock of the store, or `nil` if the answer
        /// does not say it.
        var age: TimeInterval?
    }

    /// One page of a list.
    struct Page: Sendable {
        var objects: [ListedObject] = []
        /// The beginnings of keys up to the delimiter, if there is one.
        var folders: [String] = []
        /// The token of the next page, if there is one.
        var next: String?

        var keys: [String] { objects.map(\.key) }
    }

    /// Returns a page of the objects whose keys begin with a text, in the order of their bytes.
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
            objects: objects(in: document, answer),
            folders: document.values(at: "ListBucketResult/CommonPrefixes/Prefix"),
            next: isTruncated == "false" ? nil : next)
    }

    private func objects(in document: S3Document, _ answer: S3Answer) -> [ListedObject] {
        let keys = document.values(at: "ListBucketResult/Contents/Key")
        let times = document.values(at: "ListBucketResult/Contents/LastModified")
        // If an object has no time, it is not known which times belong to the others.
        guard times.count == keys.count, let now = answer.headers["date"].flatMap({ Date(http: $0) }) else {
            return keys.map { ListedObject(key: $0) }
        }
        return zip(keys, times).map { key, time in
            let date = try? Date(iso8601: time, parameter: "LastModified")
            return ListedObject(key: key, age: date.map { now.timeIntervalSince($0) })
        }
    }

    /// Returns all pages of a list together.
    func listAll(_ prefix: String, delimiter: String? = nil) async throws(ChatError) -> Page {
        var all = Page()
        repeat {
            let page = try await list(prefix, delimiter: delimiter, token: all.next)
            all.objects += page.objects
            all.folders += page.folders
            all.next = page.next
        } while all.next != nil
        return all
    }
}
