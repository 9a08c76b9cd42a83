import Foundation
import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

@testable import ScrollbackServer

/// The deletion of removed files in a shared bucket, with lists that a test defines.
@Suite struct S3RemovalTests {
    private static let blobs = [BlobID(of: [1]), BlobID(of: [2])]

    /// Starts a store whose list has an object of each blob, stored at the given times.
    ///
    /// - Parameter date: The time of the answer.
    private static func stub(
        _ times: [String?], date: String? = "Sun, 29 Nov 2026 16:00:00 GMT"
    ) async throws -> S3Stub {
        let objects = zip(blobs, times).map { blob, time in
            let element = time.map { "<LastModified>\($0)</LastModified>" } ?? ""
            return "<Contents><Key>removed/\(blob)/1</Key>\(element)<Size>1</Size></Contents>"
        }
        let list = "<ListBucketResult><IsTruncated>false</IsTruncated>\(objects.joined())</ListBucketResult>"
        return try await S3Stub { request, _ in
            request.method == "GET"
                ? .answer(200, list, headers: date.map { ["Date": $0] } ?? [:]) : .answer(204)
        }
    }

    /// Deletes the bytes that were removed an hour before.
    private func purge(_ stub: S3Stub) async throws {
        let folder = try TemporaryFolder()
        let environment = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "very-secret"]
        let client = S3Client(
            try S3Location(stub.url), try S3Credentials(environment: environment), logger: LogRecorder().logger)
        let store = try S3MediaStore(
            client, in: folder.url, threads: .started(), isShared: true, removalDelay: 3600)
        try await store.purge { _ in false }
    }

    private static func requests(_ stub: S3Stub) -> [String] {
        stub.requests.map { "\($0.method) \($0.uri.prefix { $0 != "?" })" }
    }

    @Test func `The list shows which removed bytes are old enough, by the clock of the store`() async throws {
        let stub = try await Self.stub(["2026-11-29T15:00:00.001Z", "2026-11-29T15:00:00.000Z"])
        try await purge(stub)
        #expect(Self.requests(stub) == ["GET /bucket", "DELETE /bucket/removed/\(Self.blobs[1])/1"])
    }

    @Test func `Removed bytes of unknown age stay, and do not keep others from being deleted`() async throws {
        let old = "2026-11-28T15:00:00Z"
        let unreadable = try await Self.stub(["yesterday", old])
        let error = await #expect(throws: ChatError.self) { try await purge(unreadable) }
        #expect(error?.code == .internalError && error?.s3Failure?.operation == .list)
        #expect(Self.requests(unreadable) == ["GET /bucket", "DELETE /bucket/removed/\(Self.blobs[1])/1"])
        // One time can belong to either object.
        for broken in [try await Self.stub([nil, old]), try await Self.stub([old, old], date: nil)] {
            await #expect(throws: ChatError.self) { try await purge(broken) }
            #expect(Self.requests(broken) == ["GET /bucket"])
        }
    }
}
