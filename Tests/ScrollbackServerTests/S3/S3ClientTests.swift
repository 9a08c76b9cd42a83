import Foundation
import NIOCore
import NIOHTTP1
import ScrollbackEngine
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackServer

/// The client of S3-compatible stores with a server that fails.
@Suite struct S3ClientTests {
    /// A clock whose delays end at once.
    private final class TestClock: Sendable {
        let delays = Mutex<[Duration]>([])
        let start = ContinuousClock.now

        var timing: S3Timing {
            var timing = S3Timing()
            timing.now = { [self] in delays.withLock { start + $0.reduce(.zero, +) } }
            timing.sleep = { [self] delay in delays.withLock { $0.append(delay) } }
            timing.jitter = { 1 }
            timing.date = { Date(timeIntervalSince1970: 1_764_198_309) }
            return timing
        }
    }

    private let clock = TestClock()
    private let log = LogRecorder()

    private func client(_ stub: S3Stub, timing: S3Timing? = nil) throws -> S3Client {
        let environment = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "very-secret"]
        return S3Client(
            try S3Location(stub.url), try S3Credentials(environment: environment), logger: log.logger,
            timing: timing ?? clock.timing)
    }

    private static let content = S3Stub.Reply.answer(206, "12345", headers: ["Content-Range": "bytes 0-4/5"])

    @Test(arguments: [
        S3Stub.Reply.error(503, "SlowDown"), .error(500, "InternalError"), .error(400, "RequestTimeout"),
        .answer(502, "<html>Bad gateway"), .reset, .truncated("12", length: 5), .truncated("", length: 5),
    ])
    func `A request that fails for a moment is repeated with growing delays`(reply: S3Stub.Reply) async throws {
        let stub = try await S3Stub { _, number in number < 3 ? reply : Self.content }
        let client = try client(stub)
        let found = try await client.get("blobs/a", at: 0, count: 5)
        #expect(found?.bytes == Array("12345".utf8) && found?.size == 5)
        #expect(clock.delays.withLock { $0 } == [.milliseconds(200), .milliseconds(400), .milliseconds(800)])
        #expect(stub.requests.count == 4)
        #expect(Set(stub.requests.map(\.uri)) == ["/bucket/blobs/a"])
        let counts = client.counts
        #expect(counts[.init(operation: .get, outcome: .unavailable)] == 3)
        #expect(counts[.init(operation: .get, outcome: .success)] == 1 && counts.count == 2)
    }

    @Test func `The body of a repeated request is sent again`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "file")
        let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try Data(bytes).write(to: file)
        let stub = try await S3Stub { _, number in number < 1 ? .reset : .answer(200) }
        let part = FilePart(file: file, offset: 3, count: 600_000, threads: .started())
        try await client(stub).put(.file(part), as: "blobs/a")
        let last = try #require(stub.requests.last)
        #expect(stub.requests.count == 2 && last.body == Array(bytes[3..<600_003]))
        #expect(last.headers["x-amz-content-sha256"] == [BlobID(of: bytes[3..<600_003]).description])
        #expect(last.headers["content-length"] == ["600000"])
    }

    @Test func `Requests that keep failing end after a number of attempts and after a time`() async throws {
        let stub = try await S3Stub { _, _ in .error(503, "SlowDown") }
        let client = try client(stub)
        let error = await #expect(throws: ChatError.self) { try await client.put(.bytes([1]), as: "a") }
        #expect(error?.code == .overloaded && error?.isTemporary == true)
        #expect(stub.requests.count == 5)
        // A request that fails soon after it is not logged again.
        await #expect(throws: ChatError.self) { try await client.put(.bytes([1]), as: "a") }
        #expect(log.lines == ["A request to the store of files failed. reason=put: 503 SlowDown"])
        let other = TestClock()
        var timing = other.timing
        timing.total = .milliseconds(700)
        await #expect(throws: ChatError.self) { try await self.client(stub, timing: timing).put(.bytes([1]), as: "a") }
        #expect(other.delays.withLock { $0 } == [.milliseconds(200), .milliseconds(400)])
        #expect(stub.requests.count == 13)
    }

    @Test func `An attempt without an answer ends after a time`() async throws {
        let stub = try await S3Stub { _, _ in .silence }
        var timing = clock.timing
        timing.attempt = .milliseconds(20)
        let client = try client(stub, timing: timing)
        let error = await #expect(throws: ChatError.self) { try await client.put(.bytes([1]), as: "a") }
        #expect(error?.code == .overloaded)
        #expect(client.counts == [.init(operation: .put, outcome: .unavailable): 5])
    }

    @Test func `A refused request is not repeated, and the error has no secrets and no text of the store`() async throws
    {
        let stub = try await S3Stub { _, _ in .error(403, "AccessDenied") }
        let error = await #expect(throws: ChatError.self) { try await client(stub).put(.bytes([1]), as: "a") }
        #expect(error?.code == .internalError && stub.requests.count == 1)
        let text = "\(String(describing: error)) \(String(describing: error?.cause))"
        #expect(text.contains("AccessDenied") && !text.contains("secret") && !text.contains("Signature"), "\(text)")
        let full = try await S3Stub { _, _ in .error(507, "XMinioStorageFull") }
        let fullError = await #expect(throws: ChatError.self) { try await client(full).put(.bytes([1]), as: "a") }
        #expect(fullError?.code == .storageFull && full.requests.count == 1)
    }

    @Test func `The token of temporary credentials is sent and signed`() async throws {
        let stub = try await S3Stub { _, _ in .answer(200) }
        let credentials = try S3Credentials(environment: [
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "very-secret", "AWS_SESSION_TOKEN": "token+/=",
        ])
        try await S3Client(S3Location(stub.url), credentials, logger: log.logger).put(.bytes([1]), as: "a")
        let headers = try #require(stub.requests.first?.headers)
        #expect(headers["x-amz-security-token"] == ["token+/="])
        #expect(headers.first(name: "authorization")?.contains("x-amz-date;x-amz-security-token,") == true)
    }

    @Test func `A missing object is no error, but a missing bucket is one`() async throws {
        let missing = try await S3Stub { _, _ in .error(404, "NoSuchKey") }
        let client = try client(missing)
        #expect(try await client.get("a", at: 0, count: 5) == nil)
        #expect(try await client.size(of: "a") == nil)
        try await client.delete("a")
        try await client.delete((0..<20).map { "\($0)" })
        #expect(missing.requests.count == 23)
        let bucket = try await S3Stub { _, _ in .error(404, "NoSuchBucket") }
        await #expect(throws: ChatError.self) { try await self.client(bucket).get("a", at: 0, count: 5) }
    }

    @Test func `A range after the end of an object is empty, and neither counts nor is logged as a refusal`()
        async throws
    {
        let stub = try await S3Stub { request, _ in
            request.method == "HEAD" ? .answer(200, headers: ["Content-Length": "5"]) : .error(416, "InvalidRange")
        }
        let client = try client(stub)
        let found = try await client.get("a", at: 5, count: 5)
        #expect(found?.bytes == [] && found?.size == 5)
        #expect(client.counts[.init(operation: .get, outcome: .missing)] == 1 && log.lines == [])
    }

    @Test func `An answer with another part than the requested one is refused`() async throws {
        let whole = try await S3Stub { _, _ in .answer(200, "0123456789") }
        #expect(try await client(whole).get("a", at: 0, count: 20)?.size == 10)
        await #expect(throws: ChatError.self) { try await client(whole).get("a", at: 5, count: 20) }
        await #expect(throws: ChatError.self) { try await client(whole).get("a", at: 0, count: 5) }
        let short = try await S3Stub { _, _ in .answer(206, "012", headers: ["Content-Range": "bytes 0-2/10"]) }
        await #expect(throws: ChatError.self) { try await client(short).get("a", at: 0, count: 5) }
        let unknown = try await S3Stub { _, _ in .answer(206, "01234") }
        await #expect(throws: ChatError.self) { try await client(unknown).get("a", at: 0, count: 5) }
    }

    @Test func `A copy that fails after the status 200 is an error, and a missing object is not copied`() async throws {
        let body = "  \n\(Self.copied)"
        let stub = try await S3Stub { _, _ in .answer(200, body) }
        #expect(try await client(stub).copy("a +b", to: "c"))
        #expect(stub.requests.map { "\($0.method) \($0.uri)" } == ["HEAD /bucket/a%20%2Bb", "PUT /bucket/c"])
        #expect(stub.requests.last?.headers["x-amz-copy-source"] == ["/bucket/a%20%2Bb"])
        for reply in [S3Stub.Reply.error(200, "InternalError"), .answer(200), .answer(200, "<a></a>")] {
            let failing = try await S3Stub { _, _ in reply }
            let error = await #expect(throws: ChatError.self) { try await client(failing).copy("a", to: "c") }
            #expect(error?.s3Failure?.operation == .copy)
        }
        let recovering = try await S3Stub { _, number in number < 2 ? .error(200, "SlowDown") : .answer(200, body) }
        #expect(try await client(recovering).copy("a", to: "c"))
        #expect(recovering.requests.count == 3)
        for missing in [
            try await S3Stub({ _, _ in .error(404, "NoSuchKey") }),
            try await S3Stub({ request, _ in request.method == "HEAD" ? .answer(200) : .error(404, "NoSuchKey") }),
        ] {
            #expect(try await !client(missing).copy("a", to: "c"))
        }
    }

    private static let copied =
        "<?xml version='1.0'?><CopyObjectResult><ETag>&quot;a&quot;</ETag></CopyObjectResult>"

    @Test func `A copy of a large object has a longer time limit than other requests`() async throws {
        func limit(_ bytes: Int64) -> Duration {
            S3Timing().limit(of: S3Request(operation: .copy, method: "PUT", key: "a", copiedBytes: bytes))
        }
        #expect([0, 240 << 20, 248 << 20, 5 << 30].map(limit) == [30, 30, 31, 640].map { .seconds($0) })
        var timing = clock.timing
        timing.attempt = .milliseconds(200)
        timing.copiedBytesPerSecond = 1 << 20
        func copy(of size: Int64, _ reply: S3Stub.Reply) async throws -> Bool? {
            let stub = try await S3Stub { request, _ in
                request.method == "HEAD" ? .answer(200, headers: ["Content-Length": "\(size)"]) : reply
            }
            return try? await client(stub, timing: timing).copy("a", to: "c")
        }
        #expect(try await copy(of: 600 << 20, .late(Self.copied, .milliseconds(600))) == true)
        #expect(try await copy(of: 10, .silence) == nil)
    }

    @Test func `A copy ends when its task is cancelled`() async throws {
        let stub = try await S3Stub { request, _ in request.method == "HEAD" ? .answer(200) : .silence }
        let client = try client(stub)
        let copy = Task { try await client.copy("a", to: "c") }
        try #require(try await eventually { stub.requests.count == 2 })
        copy.cancel()
        await #expect(throws: ChatError.self) { try await copy.value }
        #expect(stub.requests.count == 2 && log.lines == [])
    }

    private static func list(_ keys: [String], next: String?, isTruncated: Bool) -> S3Stub.Reply {
        .answer(
            200,
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name>
            <IsTruncated>\(isTruncated)</IsTruncated>\(next.map { "<NextContinuationToken>\($0)" } ?? "")\
            \(next == nil ? "" : "</NextContinuationToken>")
            \(keys.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined())
            <CommonPrefixes><Prefix>صور &lt;🐦&gt;/</Prefix></CommonPrefixes></ListBucketResult>
            """)
    }

    @Test func `A list is read to its end, and an incomplete list is refused`() async throws {
        let stub = try await S3Stub { request, _ in
            request.uri.contains("continuation-token=a%2Fb%3D%3D")
                ? Self.list(["c"], next: nil, isTruncated: false)
                : Self.list(["a", "b &amp; 🐦"], next: "a/b==", isTruncated: true)
        }
        let all = try await client(stub).listAll("ص/", delimiter: "/")
        #expect(all.keys == ["a", "b & 🐦", "c"] && all.folders == ["صور <🐦>/", "صور <🐦>/"])
        #expect(stub.requests[0].uri == "/bucket?delimiter=%2F&list-type=2&max-keys=1000&prefix=%D8%B5%2F")
        for reply in [
            Self.list(["a"], next: nil, isTruncated: true), .answer(200, "<a></a>"), .answer(200, "<a>"),
            .answer(200, "not xml"), .answer(200, String(repeating: "<a>", count: 100)),
        ] {
            let broken = try await S3Stub { _, _ in reply }
            await #expect(throws: ChatError.self) { try await client(broken).list("") }
        }
    }

    /// Answers the requests of a multipart upload except the last one.
    private static func multipart(_ request: S3Stub.Request) -> S3Stub.Reply? {
        switch (request.method, request.uri) {
        case ("POST", "/bucket/a?uploads="):
            .answer(200, "<InitiateMultipartUploadResult><UploadId>x/1</UploadId></InitiateMultipartUploadResult>")
        case ("PUT", _): .answer(200, headers: ["ETag": "\"<&>\""])
        case ("DELETE", _): .answer(204)
        default: nil
        }
    }

    @Test func `A multipart upload that fails at its end is removed, and one whose answer was lost is complete`()
        async throws
    {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "file")
        try Data(repeating: 7, count: 25).write(to: file)
        let part = FilePart(file: file, offset: 0, count: 25, threads: .started())
        let failing = try await S3Stub { request, _ in Self.multipart(request) ?? .error(200, "InternalError") }
        await #expect(throws: ChatError.self) { try await client(failing).putParts(of: part, partBytes: 10, as: "a") }
        #expect(failing.requests.last?.method == "DELETE")
        #expect(failing.requests.last?.uri == "/bucket/a?uploadId=x%2F1")
        #expect(failing.requests.filter { $0.method == "PUT" }.map(\.body.count) == [10, 10, 5])
        let end = try #require(failing.requests.last { $0.method == "POST" })
        #expect(
            String(decoding: end.body, as: UTF8.self).contains(
                "<Part><PartNumber>3</PartNumber><ETag>\"&lt;&amp;&gt;\"</ETag></Part>"))
        for size in [25, 24] {
            let lost = try await S3Stub { request, _ in
                request.method == "HEAD"
                    ? .answer(200, headers: ["Content-Length": "\(size)"])
                    : Self.multipart(request) ?? .error(404, "NoSuchUpload")
            }
            let isComplete = (try? await client(lost).putParts(of: part, partBytes: 10, as: "a")) != nil
            #expect(isComplete == (size == 25))
        }
    }

    @Test func `The bytes of a user's file are never read as an error of the store`() async throws {
        let text = "<Error><Code>NoSuchKey</Code></Error>"
        let stub = try await S3Stub { _, _ in
            .answer(206, text, headers: ["Content-Range": "bytes 0-36/37"])
        }
        #expect(try await client(stub).get("a", at: 0, count: 37)?.bytes == Array(text.utf8))
    }

    @Test(arguments: [
        (S3Stub.Reply.error(403, "InvalidAccessKeyId"), "AWS_ACCESS_KEY_ID"),
        (.error(400, "ExpiredToken"), "AWS_SESSION_TOKEN"),
        (.error(403, "SignatureDoesNotMatch"), "AWS_SECRET_ACCESS_KEY"),
        (.error(403, "RequestTimeTooSkewed"), "clock"), (.error(403, "AccessDenied"), "may not use"),
        (.error(404, "NoSuchBucket"), "names the bucket bucket, which does not exist"),
        (.error(301, "PermanentRedirect"), "region="), (.error(400, "AuthorizationHeaderMalformed"), "region="),
        (.error(501, "NotImplemented"), "answers NotImplemented"), (.answer(200, "<html>"), "not a list"),
        (.reset, "can't be reached"),
    ])
    func `The check at the start explains what to correct`(reply: S3Stub.Reply, reason: String) async throws {
        let stub = try await S3Stub { _, _ in reply }
        let error = await #expect(throws: ChatError.self) { try await client(stub).check() }
        #expect(error?.code == .invalidParameter && error?.parameter == "files")
        #expect(
            error?.message.contains(reason) == true && error?.message.contains("\n") == false, "\(error?.message ?? "")"
        )
    }
}
