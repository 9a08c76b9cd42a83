import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackServer

/// Several media stores with one bucket of a real server.
@Suite(.needs(.s3), .serialized) struct S3MediaStoreTests {
    private let folder: TemporaryFolder
    private let threads: FileThreads
    private let bucket: S3Bucket

    init() throws {
        folder = try TemporaryFolder()
        threads = .started()
        bucket = try S3Bucket()
    }

    private func store(_ name: String, at time: TimeInterval = 1) throws -> S3MediaStore {
        let data = folder.url.appending(component: name)
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        return try S3MediaStore(S3Client(bucket), in: data, threads: threads) { Date(timeIntervalSince1970: time) }
    }

    /// Returns bytes that repeat only after 99,991 bytes.
    private static func bytes(_ count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: 3)
        let block = (0..<min(count, 99_991)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += block }
        return Array(bytes.prefix(count))
    }

    private func localFiles(_ name: String) -> [String] {
        let uploads = folder.url.appending(path: "\(name)/media/uploads").path
        return (try? FileManager.default.contentsOfDirectory(atPath: uploads)) ?? []
    }

    @Test func `Another server resumes an upload, and what the first one stores later does not change it`() async throws
    {
        let (a, b) = (try store("a"), try store("b"))
        let bytes = Self.bytes(500_000)
        let upload = UploadID()
        let first = try await a.open(upload, at: 0)
        try await first.append(Array(bytes[..<200_000]))
        try await first.sync()
        try await first.append([UInt8](repeating: 1, count: 150_000))
        // The first server is cut off. The client resumes with the second one.
        let second = try await b.open(upload, at: 200_000)
        try await second.append(Array(bytes[200_000..<300_000]))
        try await second.sync()
        // The first server comes back.
        try await first.sync()
        try await first.append([UInt8](repeating: 2, count: 150_000))
        try await first.sync()
        await second.close()
        let third = try await a.open(upload, at: 300_000)
        try await third.append(Array(bytes[300_000...]))
        try await third.sync()
        let fourth = try await b.open(upload, at: 500_000)
        #expect(try await fourth.hash() == BlobID(of: bytes))
        #expect(try await fourth.examine { (data) throws(ChatError) in Array(data) } == bytes)
        let names = try await b.client.listAll("\(b.client.location.prefix)uploads/").keys
        #expect(names.count == 3, "\(names)")
        await fourth.close()
        try await b.remove(upload)
        #expect(try await a.uploads() == [])
    }

    @Test func `Earlier segments are loaded once, when all bytes are needed`() async throws {
        let store = try store("a")
        let bytes = Self.bytes(500_000)
        let upload = UploadID()
        func gets() -> Int { store.client.counts[.init(operation: .get, outcome: .success)] ?? 0 }
        for start in stride(from: 0, to: 500_000, by: 50_000) {
            let file = try await store.open(upload, at: Int64(start))
            try await file.append(Array(bytes[start..<(start + 50_000)]))
            try await file.sync()
            await file.close()
        }
        #expect(gets() == 0)
        let file = try await store.open(upload, at: 500_000)
        #expect(try await file.examine { (data) throws(ChatError) in Array(data) } == bytes)
        #expect(try await file.hash() == BlobID(of: bytes))
        try await file.persist(as: BlobID(of: bytes))
        #expect(gets() == 10)
        #expect(try await store.read(BlobID(of: bytes), at: 0, count: 500_000) == bytes)
        await file.close()
    }

    @Test func `Two servers whose clocks differ never confuse their segments`() async throws {
        let (a, b) = (try store("a", at: 900), try store("b", at: 5))
        let upload = UploadID()
        let first = try await a.open(upload, at: 0)
        try await first.append([1, 2, 3])
        try await first.sync()
        let second = try await b.open(upload, at: 2)
        try await second.append([9])
        try await second.sync()
        let third = try await a.open(upload, at: 3)
        #expect(try await third.examine { (data) throws(ChatError) in Array(data) } == [1, 2, 9])
    }

    @Test(arguments: [false, true])
    func `Removed bytes stay readable in a shared bucket, until they are deleted or restored`(
        isEncrypted: Bool
    ) async throws {
        let keys = isEncrypted ? try StoreKeys(text: Data(repeating: 1, count: 32).base64EncodedString()) : nil
        func open(removalDelay: TimeInterval) throws -> S3MediaStore {
            let data = folder.url.appending(component: UUID().uuidString)
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            return try S3MediaStore(
                S3Client(bucket), in: data, threads: threads, keys: keys, isShared: true, removalDelay: removalDelay)
        }
        let store = try open(removalDelay: ServerOptions.standardRemovalDelay)
        // The bucket rounds times to seconds.
        let later = try open(removalDelay: -60)
        let bytes = Self.bytes(700_000)
        let blob = BlobID(of: bytes)
        func removed() async throws -> Int {
            try await store.client.listAll("\(store.client.location.prefix)removed/").keys.count
        }
        try await store.put(bytes, as: blob)
        // The second server repeats what the first one has done.
        for server in [store, later] { try await server.remove(blob) }
        #expect(try await store.blobs(after: nil, limit: 9) == [])
        try await store.purge { _ in false }
        #expect(try await store.read(blob, at: 0, count: 700_000) == bytes)
        #expect(try await later.open(blob).read(at: 650_000, count: 10) == Array(bytes[650_000..<650_010]))
        try await later.purge { $0 == blob }
        #expect(try await store.blobs(after: nil, limit: 9) == [blob])
        #expect(try await removed() == 0)
        #expect(try await store.read(blob, at: 0, count: 700_000) == bytes)
        try await store.remove(blob)
        #expect(try await removed() == 1)
        try await later.purge { _ in false }
        #expect(try await removed() == 0)
        let error = await #expect(throws: ChatError.self) { try await store.open(blob) }
        #expect(error?.code == .unknownMedia)
    }

    @Test func `Local files are removed when an upload is closed and when a server starts`() async throws {
        let store = try store("a")
        let (kept, closed) = (UploadID(), UploadID())
        _ = try await store.open(kept, at: 0)
        let file = try await store.open(closed, at: 0)
        #expect(localFiles("a").count == 2)
        await file.close()
        #expect(localFiles("a").count == 1)
        _ = try self.store("a")
        #expect(localFiles("a") == [])
        await #expect(throws: ChatError.self) { try await store.open(UploadID(), at: 5) }
        #expect(localFiles("a") == [])
    }

    @Test func `A blob in several parts is stored, and an existing one of the same size is not stored again`()
        async throws
    {
        let store = try store("a")
        let bytes = Self.bytes(34_000_000)
        let blob = BlobID(of: bytes)
        let file = try await store.open(UploadID(), at: 0)
        try await file.append(bytes)
        try await file.sync()
        #expect(try await store.client.listAll("\(store.client.location.prefix)uploads/").keys.count == 3)
        try await store.client.put(.bytes([1, 2, 3]), as: store.key(of: blob, isEncrypted: false))
        for _ in 0..<2 { try await file.persist(as: blob) }
        await file.close()
        // Begin, three parts, end.
        #expect(store.client.counts[.init(operation: .multipart, outcome: .success)] == 5)
        #expect(try await store.read(blob, at: 33_999_990, count: 100) == Array(bytes.suffix(10)))
    }

    @Test func `A download takes few requests, and a read of a part takes no more than the part`() async throws {
        let store = try store("a")
        let bytes = Self.bytes(20_000_000)
        let blob = BlobID(of: bytes)
        try await store.put(bytes, as: blob)
        func gets() -> Int { store.client.counts[.init(operation: .get, outcome: .success)] ?? 0 }
        let file = try await store.open(blob)
        var found: [UInt8] = []
        while case let part = try await file.read(at: Int64(found.count), count: 262_144), !part.isEmpty {
            found += part
        }
        #expect(found == bytes)
        #expect(gets() <= 12, "\(gets())")
        let before = gets()
        #expect(try await store.open(blob).read(at: 5_000_000, count: 1000) == Array(bytes[5_000_000..<5_001_000]))
        #expect(gets() == before + 1)
    }

    @Test func `The memory for reading ahead has a limit`() {
        let budget = ReadAheadBudget()
        var count = 0
        while budget.acquire() { count += 1 }
        #expect(count * ReadAheadBudget.share == 128 << 20)
        budget.release()
        #expect(budget.acquire() && !budget.acquire())
    }

    @Test func `Wrong bytes of a blob are noticed when it is read to its end`() async throws {
        let store = try store("a")
        var bytes = Self.bytes(700_000)
        let blob = BlobID(of: bytes)
        bytes[650_000] ^= 1
        try await store.client.put(.bytes(bytes), as: store.key(of: blob, isEncrypted: false))
        let file = try await store.open(blob)
        #expect(try await file.read(at: 0, count: 300_000) == Array(bytes[..<300_000]))
        #expect(try await file.read(at: 300_000, count: 300_000) == Array(bytes[300_000..<600_000]))
        let error = await #expect(throws: ChatError.self) { try await file.read(at: 600_000, count: 300_000) }
        #expect(error?.code == .internalError)
        #expect((error?.cause as? ChatError)?.message.contains(blob.description) == true)
        await #expect(throws: ChatError.self) { try await store.read(blob, at: 0, count: 700_000) }
        // A part can't be verified.
        #expect(try await store.read(blob, at: 640_000, count: 60_000) == Array(bytes[640_000...]))
    }

    @Test func `A missing or damaged segment is unknown bytes instead of other bytes`() async throws {
        let store = try store("a")
        let upload = UploadID()
        let file = try await store.open(upload, at: 0)
        for _ in 0..<2 {
            try await file.append([UInt8](repeating: 5, count: 1000))
            try await file.sync()
        }
        await file.close()
        let keys = try await store.client.listAll("\(store.client.location.prefix)uploads/\(upload.text)/").keys
        #expect(keys.count == 2)
        try await store.client.put(.bytes([1]), as: keys[1])
        let resumed = try await store.open(upload, at: 2000)
        let shorter = await #expect(throws: ChatError.self) { try await resumed.hash() }
        #expect(shorter?.code == .unknownUpload)
        await resumed.close()
        try await store.client.delete(keys[0])
        let missing = await #expect(throws: ChatError.self) { try await store.open(upload, at: 2000) }
        #expect(missing?.code == .unknownUpload)
    }

    @Test func `The check at the start accepts the bucket and leaves no object`() async throws {
        let client = try S3Client(bucket)
        try await client.check()
        #expect(try await client.listAll(client.location.prefix).keys == [])
    }

    @Test func `Wrong keys, buckets and clocks are explained by a real server`() async throws {
        func reason(
            _ url: String, key: String = "test:tester", secret: String = "testing", clock: TimeInterval = 0
        ) async throws -> String {
            var timing = S3Timing()
            timing.date = { Date() + clock }
            let credentials = try S3Credentials(
                environment: ["AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret])
            let client = S3Client(try S3Location(url), credentials, logger: LogRecorder().logger, timing: timing)
            let error = await #expect(throws: ChatError.self) { try await client.check() }
            #expect(error?.parameter == "files")
            return error?.message ?? ""
        }
        #expect(try await reason(bucket.url, secret: "wrong").contains("AWS_SECRET_ACCESS_KEY"))
        #expect(try await reason(bucket.url, key: "test:other").contains("AWS_ACCESS_KEY_ID"))
        #expect(try await reason(bucket.url, clock: -3600).contains("clock"))
        let other = bucket.url.replacing("s3://scrollback?", with: "s3://missing?")
        #expect(try await reason(other).contains("names the bucket missing, which does not exist"))
        let region = bucket.url.replacing("us-east-1", with: "eu-west-1")
        #expect(try await reason(region).contains("region="))
    }
}
