import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport
import TestSupport
import Testing

@testable import ScrollbackServer

/// Encryption of files in a bucket.
@Suite(.needs(.s3), .serialized) struct S3EncryptionTests {
    private let folder: TemporaryFolder
    private let threads: FileThreads
    private let client: S3Client

    init() throws {
        folder = try TemporaryFolder()
        threads = .started()
        client = try S3Client(S3Bucket())
    }

    private func store(_ numbers: Int...) throws -> S3MediaStore {
        let lines = numbers.map { number in
            number == 0 ? "plain" : Data(repeating: UInt8(number), count: 32).base64EncodedString()
        }
        let keys = numbers.isEmpty ? nil : try StoreKeys(text: lines.joined(separator: "\n"))
        return try S3MediaStore(client, in: folder.url, threads: threads, keys: keys)
    }

    /// Returns bytes that repeat only after 99,991 bytes.
    private static func bytes(_ count: Int, _ seed: UInt64 = 3) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        let block = (0..<min(count, 99_991)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += block }
        return Array(bytes.prefix(count))
    }

    private func keys() async throws -> [String] {
        try await client.listAll(client.location.prefix).keys.map { String($0.dropFirst(client.location.prefix.count)) }
    }

    /// Whether an object in the bucket, or a local file, contains bytes of `bytes`.
    private func isReadable(_ bytes: [UInt8]) async throws -> Bool {
        var found: [Data] = []
        for key in try await client.listAll(client.location.prefix).keys {
            let object = try await client.get(key, at: 0, count: 10_000_000)
            found.append(Data(object?.bytes ?? []))
        }
        let uploads = folder.url.appending(path: "media/uploads")
        for name in try FileManager.default.contentsOfDirectory(atPath: uploads.path) {
            found.append(try Data(contentsOf: uploads.appending(component: name)))
        }
        return stride(from: 0, to: bytes.count - 16, by: 20_011).contains { place in
            let needle = Data(bytes[place..<(place + 16)])
            return found.contains { $0.range(of: needle) != nil }
        }
    }

    @Test func `With keys, neither the bucket nor a local file contains the bytes of a file`() async throws {
        let bytes = Self.bytes(200_000)
        for (store, isReadable) in [(try store(1), false), (try store(), true)] {
            let upload = UploadID()
            let first = try await store.open(upload, at: 0)
            try await first.append(Array(bytes[..<90_000]))
            try await first.sync()
            await first.close()
            let second = try await store.open(upload, at: 90_000)
            try await second.append(Array(bytes[90_000...]))
            try await second.sync()
            #expect(try await second.hash() == BlobID(of: bytes))
            #expect(try await self.isReadable(bytes) == isReadable)
            try await second.persist(as: BlobID(of: bytes))
            let small = Self.bytes(5000, 4)
            try await store.put(small, as: BlobID(of: small))
            #expect(try await self.isReadable(bytes) == isReadable)
            #expect(try await self.isReadable(small) == isReadable)
            await second.close()
            try await store.remove(upload)
            #expect(try await store.read(BlobID(of: bytes), at: 89_990, count: 20) == Array(bytes[89_990..<90_010]))
            #expect(try await keys().allSatisfy { $0.hasSuffix(".sealed") } == !isReadable)
            for blob in try await store.blobs(after: nil, limit: 9) { try await store.remove(blob) }
            #expect(try await keys() == [])
        }
    }

    @Test func `A download of an encrypted file takes few requests, wherever it begins`() async throws {
        let store = try store(1)
        let bytes = Self.bytes(5_000_000)
        let blob = BlobID(of: bytes)
        try await store.put(bytes, as: blob)
        for start in [0, 100_001] {
            let before = client.counts[.init(operation: .get, outcome: .success)] ?? 0
            let file = try await store.open(blob)
            var found = start
            while case let part = try await file.read(at: Int64(found), count: 262_144), !part.isEmpty {
                #expect(part == Array(bytes[found...].prefix(262_144)))
                found += part.count
            }
            #expect(found == bytes.count)
            let requests = (client.counts[.init(operation: .get, outcome: .success)] ?? 0) - before
            #expect(requests <= 6, "\(requests) requests from \(start)")
        }
    }

    @Test func `A changed, truncated or exchanged object is refused`() async throws {
        let store = try store(1)
        let (first, second) = (Self.bytes(200_000, 1), Self.bytes(200_000, 2))
        let (blob, other) = (BlobID(of: first), BlobID(of: second))
        try await store.put(first, as: blob)
        try await store.put(second, as: other)
        let key = store.key(of: blob, isEncrypted: true)
        let sound = try #require(try await client.get(key, at: 0, count: 1_000_000)).bytes
        let exchanged = try await client.get(store.key(of: other, isEncrypted: true), at: 0, count: 1_000_000)
        var changed: [[UInt8]] = [try #require(exchanged).bytes, Array(sound.dropLast()), sound + [0]]
        for place in [0, 5, 9, 30, 50, 80, 70_000, sound.count - 1] {
            changed.append(sound)
            changed[changed.count - 1][place] ^= 1
        }
        for bytes in changed {
            try await client.put(.bytes(bytes), as: key)
            let error = await #expect(throws: ChatError.self) {
                _ = try await store.read(blob, at: 0, count: first.count)
            }
            #expect(error?.code == .internalError && error?.message.contains(blob.description) == false)
        }
        try await client.put(.bytes(sound), as: key)
        #expect(try await store.read(blob, at: 0, count: first.count) == first)
        // A segment can't become a segment of another upload.
        let (mine, yours) = (UploadID(), UploadID())
        for (upload, bytes) in [(mine, first), (yours, second)] {
            let file = try await store.open(upload, at: 0)
            try await file.append(bytes)
            try await file.sync()
            await file.close()
        }
        let segment = try #require(try await store.segments(of: mine).first)
        let foreign = try #require(try await store.segments(of: yours).first)
        let bytes = try await client.get(store.key(of: foreign, yours), at: 0, count: 1_000_000)
        try await client.put(.bytes(try #require(bytes).bytes), as: store.key(of: segment, mine))
        let resumed = try await store.open(mine, at: 200_000)
        await #expect(throws: ChatError.self) { try await resumed.hash() }
    }

    @Test func `The background task encrypts all files, changes keys and decrypts them while they are read`()
        async throws
    {
        let contents = (0..<7).map { Self.bytes(1 + $0 * 50_000, UInt64($0)) }
        for bytes in contents { try await store().put(bytes, as: BlobID(of: bytes)) }
        let reader = try store(2, 1)
        let steps: [(store: S3MediaStore, after: S3MediaStore, suffix: String)] = [
            (try store(1), try store(1), ".sealed"), (reader, try store(2), ".sealed"),
            (try store(0, 2), try store(), ""),
        ]
        for (changing, after, suffix) in steps {
            let open = try await changing.open(BlobID(of: contents[6]))
            #expect(try await open.read(at: 0, count: 1000) == Array(contents[6][..<1000]))
            var place: BlobID?
            repeat { place = try await changing.reencryptBlobs(after: place, limit: 3) } while place != nil
            #expect(try await changing.reencryptBlobs(after: nil, limit: 50) == nil)
            let keys = try await keys()
            #expect(
                keys.count == 7 && keys.allSatisfy { $0.hasSuffix(suffix) && $0.count == 70 + suffix.count }, "\(keys)")
            for bytes in contents {
                #expect(try await after.read(BlobID(of: bytes), at: 0, count: 1_000_000) == bytes)
            }
            #expect(try await open.read(at: 1000, count: 1_000_000) == Array(contents[6][1000...]))
        }
    }

    @Test func `An upload that began with an older key delays the end of a key change, and can end`() async throws {
        let bytes = Self.bytes(100_000)
        let upload = UploadID()
        let file = try await store().open(upload, at: 0)
        try await file.append(Array(bytes[..<40_000]))
        try await file.sync()
        await file.close()
        let changed = try store(1)
        #expect(try await changed.hasUploadsWithOlderKey())
        #expect(try await !store().hasUploadsWithOlderKey())
        let resumed = try await changed.open(upload, at: 40_000)
        try await resumed.append(Array(bytes[40_000...]))
        try await resumed.sync()
        #expect(try await resumed.hash() == BlobID(of: bytes))
        try await resumed.persist(as: BlobID(of: bytes))
        await resumed.close()
        #expect(try await store(2, 1).hasUploadsWithOlderKey())
        #expect(try await store(0, 1).hasUploadsWithOlderKey())
        try await changed.remove(upload)
        #expect(try await !changed.hasUploadsWithOlderKey())
        #expect(try await keys() == ["blobs/\(BlobID(of: bytes)).sealed"])
        #expect(try await changed.read(BlobID(of: bytes), at: 0, count: 1_000_000) == bytes)
    }
}
