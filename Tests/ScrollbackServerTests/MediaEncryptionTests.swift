import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport
import TestSupport
import Testing

@testable import ScrollbackServer

@Suite struct MediaEncryptionTests {
    private let folder: TemporaryFolder
    private let threads: FileThreads

    init() throws {
        folder = try TemporaryFolder()
        threads = .started()
    }

    private func store(_ keys: StoreKeys?) throws -> DiskMediaStore {
        try DiskMediaStore(in: folder.url, threads: threads, keys: keys)
    }

    private static func keys(_ numbers: Int...) throws -> StoreKeys {
        let lines = numbers.map { number in
            number == 0 ? "plain" : Data(repeating: UInt8(number), count: 32).base64EncodedString()
        }
        return try StoreKeys(text: lines.joined(separator: "\n"))
    }

    /// Returns bytes in which no group of eight occurs twice, so that each group identifies its position.
    private static func bytes(_ count: Int, _ salt: UInt64 = 0) -> [UInt8] {
        var generator = SplitMix64(seed: salt)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return Array(bytes.prefix(count))
    }

    private func files() -> [URL] {
        let found = FileManager.default.enumerator(at: folder.url, includingPropertiesForKeys: [.isRegularFileKey])
        return (found?.allObjects as? [URL] ?? []).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
        }
    }

    /// Whether a file in the folder contains 16 bytes of `bytes`, compared at several positions.
    private func isReadable(_ bytes: [UInt8]) -> Bool {
        let found = files().compactMap { try? Data(contentsOf: $0) }
        return stride(from: 0, to: max(1, bytes.count - 16), by: 20_011).contains { place in
            let needle = Data(bytes[place..<min(bytes.count, place + 16)])
            return !needle.isEmpty && found.contains { $0.range(of: needle) != nil }
        }
    }

    private static let sizes = [
        0, 1, 65_535, 65_536, 65_537, 131_072, 200_000, 524_288, 700_001,
    ]

    @Test(arguments: sizes)
    func `A stored file is readable in any part, and not from its encrypted file on disk`(size: Int) async throws {
        let store = try store(try Self.keys(1))
        let bytes = Self.bytes(size, 5)
        let blob = BlobID(of: Data(bytes))
        try await store.put(bytes, as: blob)
        #expect(size < 16 || !isReadable(bytes))
        let file = try await store.open(blob)
        #expect(file.size == Int64(size))
        var generator = SplitMix64(seed: UInt64(size))
        for _ in 0..<40 {
            let start = Int.random(in: 0...(size + 10), using: &generator)
            let count = Int.random(in: 0...200_000, using: &generator)
            let wanted = Array(bytes.dropFirst(start).prefix(count))
            #expect(try await file.read(at: Int64(start), count: count) == wanted)
            #expect(try await store.read(blob, at: Int64(start), count: count) == wanted)
        }
        // Without encryption, the search finds the bytes. This shows that the search can fail.
        if size >= 16 {
            let plain = try self.store(nil)
            let other = Self.bytes(size, 6)
            try await plain.put(other, as: BlobID(of: Data(other)))
            #expect(isReadable(other))
        }
    }

    @Test(arguments: [true, false], Seeds.range(per: 40))
    func `An upload that resumes after any number of crashes has the original bytes`(isEncrypted: Bool, seed: UInt64)
        async throws
    {
        let keys = isEncrypted ? try Self.keys(1) : nil
        var generator = SplitMix64(seed: seed)
        let bytes = Self.bytes(Int.random(in: 1...400_000, using: &generator), seed)
        let upload = UploadID()
        var durable: Int64 = 0
        var committed: Int64 = 0
        var store = try store(keys)
        var file = try await store.open(upload, at: 0)
        var sent: Int64 = 0
        while sent < bytes.count {
            let edge = Bool.random(using: &generator) ? 65_536 - Int(sent % 65_536) : 0
            let count = edge > 0 ? edge : Int.random(in: 1...90_000, using: &generator)
            let part = Array(bytes[Int(sent)..<min(bytes.count, Int(sent) + count)])
            try await file.append(part)
            sent += Int64(part.count)
            switch UInt64.random(in: 0..<6, using: &generator) {
            case 0, 1:
                try await file.sync()
                durable = sent
                // The commit can be lost although the bytes are on disk.
                if Bool.random(using: &generator) { committed = durable }
            case 2:
                // The server crashes. The client sends the uncommitted bytes again.
                if Bool.random(using: &generator) { await file.close() }
                store = try self.store(keys)
                file = try await store.open(upload, at: committed)
                sent = committed
            default: break
            }
            if isEncrypted, bytes.count > 32 { #expect(!isReadable(bytes)) }
        }
        try await file.sync()
        let blob = BlobID(of: Data(bytes))
        #expect(try await file.hash() == blob)
        #expect(try await file.examine { (data) throws(ChatError) in Array(data) } == bytes)
        try await file.persist(as: blob)
        if Bool.random(using: &generator) {
            // The server crashes before it acknowledges the upload. The client resumes, and the file may exist already.
            store = try self.store(keys)
            file = try await store.open(upload, at: committed)
            try await file.append(Array(bytes[Int(committed)...]))
            try await file.sync()
            #expect(try await file.hash() == blob)
            try await file.persist(as: blob)
        }
        await file.close()
        try await store.remove(upload)
        #expect(try await store.uploads() == [])
        #expect(try await store.blobs(after: nil, limit: 9) == [blob])
        #expect(try await store.read(blob, at: 0, count: bytes.count + 1) == bytes)
        #expect(files().count == 1)
        if isEncrypted, bytes.count > 32 { #expect(!isReadable(bytes)) }
    }

    @Test func `A damaged, truncated, extended or swapped file is refused, and the error names the file`()
        async throws
    {
        let store = try store(try Self.keys(1))
        let (first, second) = (Self.bytes(200_000, 1), Self.bytes(200_000, 2))
        let (blob, other) = (BlobID(of: Data(first)), BlobID(of: Data(second)))
        try await store.put(first, as: blob)
        try await store.put(second, as: other)
        let (file, otherFile) = (
            store.directory.url(of: blob, isEncrypted: true), store.directory.url(of: other, isEncrypted: true)
        )
        let sound = try Data(contentsOf: file)

        func check(_ damaged: Data, _ what: String) async throws {
            try damaged.write(to: file)
            let error = await #expect(throws: ChatError.self) {
                _ = try await store.read(blob, at: 0, count: first.count)
            }
            let cause = error?.cause as? ChatError
            #expect(cause?.message.contains(file.lastPathComponent) == true, "\(what): \(String(describing: error))")
        }
        for place in [0, 5, 9, 30, 33, 50, 64, 80, 70_000, sound.count - 1] {
            var damaged = sound
            damaged[place] ^= 1
            try await check(damaged, "byte \(place) changed")
        }
        for count in [0, 10, 64, 65_628, sound.count - 65_000, sound.count - 1] {
            try await check(sound.prefix(count), "truncated to \(count) bytes")
        }
        try await check(sound + [0], "extended")
        try await check(try Data(contentsOf: otherFile), "bytes of another file")
        // Two chunks of the same file in swapped positions.
        let (header, chunk) = (EncryptedFile.headerSize, EncryptedFile.encryptedChunkSize)
        let swapped =
            sound.prefix(header) + sound[(header + chunk)..<(header + 2 * chunk)] + sound[header..<(header + chunk)]
            + sound.suffix(from: header + 2 * chunk)
        try await check(swapped, "two chunks swapped")
        try sound.write(to: file)
        #expect(try await store.read(blob, at: 0, count: first.count) == first)
        // Another key can't open the file.
        let wrong = try self.store(try Self.keys(2))
        let error = await #expect(throws: ChatError.self) { _ = try await wrong.open(blob) }
        let cause = error?.cause as? ChatError
        #expect(cause?.message.contains("is encrypted with the key \(try Self.keys(1).keys[0].id)") == true)
    }

    @Test func `The background task encrypts all files, changes keys and decrypts them while they are read`()
        async throws
    {
        var store = try store(nil)
        let contents = (0..<120).map { Self.bytes(Int($0) * 1_500, UInt64($0)) }
        for bytes in contents { try await store.put(bytes, as: BlobID(of: Data(bytes))) }
        let reading = try await store.open(BlobID(of: Data(contents[100])))
        let steps: [(keys: StoreKeys, after: StoreKeys?, suffix: String)] = [
            (try Self.keys(1), try Self.keys(1), ".sealed"), (try Self.keys(2, 1), try Self.keys(2), ".sealed"),
            (try Self.keys(0, 2), nil, ""),
        ]
        for (keys, after, suffix) in steps {
            store = try self.store(keys)
            var place: BlobID?
            repeat {
                // The task restarts in the middle. Processing a file twice changes nothing.
                store = try self.store(keys)
                place = try await store.reencryptBlobs(after: place, limit: 50)
            } while place != nil
            #expect(
                files().allSatisfy { $0.lastPathComponent.hasSuffix(suffix) && $0.pathExtension == suffix.dropFirst() })
            #expect(files().count == Set(contents).count)
            let last = try self.store(after)
            for bytes in contents {
                #expect(try await last.read(BlobID(of: Data(bytes)), at: 0, count: 1_000_000) == bytes)
            }
            #expect(keys.newest == nil || !isReadable(contents[90]))
        }
        #expect(try await reading.read(at: 0, count: 1_000_000) == contents[100])
    }

    @Test func `An upload that began without a key delays the end of encryption, and is encrypted after it`()
        async throws
    {
        let bytes = Self.bytes(100_000)
        var store = try store(nil)
        let upload = UploadID()
        var file = try await store.open(upload, at: 0)
        try await file.append(Array(bytes[..<40_000]))
        try await file.sync()
        await file.close()
        store = try self.store(try Self.keys(1))
        #expect(try await store.hasUploadsWithOlderKey())
        file = try await store.open(upload, at: 40_000)
        try await file.append(Array(bytes[40_000...]))
        try await file.sync()
        try await file.persist(as: BlobID(of: Data(bytes)))
        await file.close()
        try await store.remove(upload)
        #expect(try await !store.hasUploadsWithOlderKey())
        #expect(isReadable(bytes))
        #expect(try await store.reencryptBlobs(after: nil, limit: 50) == nil)
        #expect(!isReadable(bytes))
        #expect(try await store.read(BlobID(of: Data(bytes)), at: 0, count: 1_000_000) == bytes)
    }
}
