import Foundation
package import ScrollbackEngine
import ScrollbackModel

/// The requirements for every ``MediaStore``: a list of named cases, independent of a test framework.
package struct MediaStoreConformance: Sendable {
    /// A requirement for media stores.
    package struct Case: Sendable, CustomStringConvertible {
        /// A sentence that states the requirement.
        package let name: String
        /// The case, with a function that opens the same storage again, as after a crash.
        fileprivate let body: @Sendable (_ open: () throws -> any MediaStore) async throws -> Void

        package var description: String { name }
    }

    package static let cases: [Case] = blobs + uploads

    private let open: @Sendable () throws -> any MediaStore

    /// Creates a test run for an empty storage.
    ///
    /// - Parameter open: Opens the storage. A case calls it again after a crash, without closing what it opened before.
    package init(open: @escaping @Sendable () throws -> any MediaStore) {
        self.open = open
    }

    /// Runs a case.
    ///
    /// - Throws: ``ExpectationFailed`` if the store fails the case, or an error of the store.
    package func run(_ testCase: Case) async throws { try await testCase.body(open) }
}

/// Returns bytes that repeat only after 99,991 bytes, a length that is no multiple of the sizes in stores.
private func makeBytes(_ count: Int, _ salt: UInt64 = 0) -> [UInt8] {
    var generator = SplitMix64(seed: salt)
    let block = (0..<min(count, 99_991)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + block.count)
    while bytes.count < count { bytes += block }
    return Array(bytes.prefix(count))
}

private func expectCode(
    _ code: ChatError.Code, _ what: String, _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch let error as ChatError {
        return try expectEqual(error.code, code, what)
    }
    throw ExpectationFailed(text: "\(what) did not throw", file: #fileID, line: #line)
}

// MARK: Blobs

extension MediaStoreConformance {
    private static let blobs: [Case] = [
        Case(name: "Any part of a stored blob can be read") { open in
            let store = try open()
            var generator = SplitMix64(seed: 1)
            for size in [0, 1, 65_535, 65_537, 600_000] {
                let bytes = makeBytes(size, UInt64(size))
                let blob = BlobID(of: bytes)
                try await store.put(bytes, as: blob)
                let file = try await store.open(blob)
                try expectEqual(file.size, Int64(size), "the size")
                for number in 0..<6 {
                    let start = [0, size, size + 10].randomElement(using: &generator) ?? 0
                    let offset = number < 3 ? start : generator.below(size + 1)
                    let count = number == 0 ? size + 1 : generator.below(size + 2)
                    let wanted = Array(bytes.dropFirst(offset).prefix(count))
                    let part = "\(count) bytes at \(offset) of \(size)"
                    try expect(
                        try await file.read(at: Int64(offset), count: count) == wanted, "\(part) of an open blob differ"
                    )
                    try expect(
                        try await store.read(blob, at: Int64(offset), count: count) == wanted, "\(part) differ")
                    let now = try store.readNow(blob, at: Int64(offset), count: count)
                    try expect(now == nil || now == wanted, "\(part), read on the calling thread, differ")
                }
            }
        },
        Case(name: "A blob that is read in order has the stored bytes") { open in
            let store = try open()
            let bytes = makeBytes(5_000_000)
            let blob = BlobID(of: bytes)
            try await store.put(bytes, as: blob)
            for step in [100_000, 262_144, 3_000_000] {
                let file = try await store.open(blob)
                var found: [UInt8] = []
                while case let part = try await file.read(at: Int64(found.count), count: step), !part.isEmpty {
                    found += part
                }
                try expect(found == bytes, "the blob differs if it is read in steps of \(step) bytes")
            }
        },
        Case(name: "A blob that does not exist is an unknown file") { open in
            let store = try open()
            let bytes = makeBytes(10)
            let blob = BlobID(of: bytes)
            try await expectCode(.unknownMedia, "open") { _ = try await store.open(blob) }
            try await expectCode(.unknownMedia, "read") { _ = try await store.read(blob, at: 0, count: 5) }
            try await expectCode(.unknownMedia, "an empty read") { _ = try await store.read(blob, at: 0, count: 0) }
            try await expectCode(.unknownMedia, "a read on the calling thread") {
                // Not every store has such reads.
                guard try store.readNow(blob, at: 0, count: 5) == nil else { return }
                _ = try await store.read(blob, at: 0, count: 5)
            }
            try await store.remove(blob)
            try await store.put(bytes, as: blob)
            try await store.remove(blob)
            try await expectCode(.unknownMedia, "open") { _ = try await store.open(blob) }
        },
        Case(name: "Blobs are listed in order and in pages") { open in
            let store = try open()
            let contents = (0..<7).map { makeBytes(100, $0) }
            for bytes in contents { try await store.put(bytes, as: BlobID(of: bytes)) }
            let all = contents.map { BlobID(of: $0) }.sorted()
            try expectEqual(try await store.blobs(after: nil, limit: 100), all, "all blobs")
            try expectEqual(try await store.blobs(after: nil, limit: 7), all, "exactly all blobs")
            var found: [BlobID] = []
            while case let page = try await store.blobs(after: found.last, limit: 3), !page.isEmpty {
                try expect(page.count <= 3, "a page has \(page.count) blobs instead of 3")
                found += page
            }
            try expectEqual(found, all, "the blobs of all pages")
        },
        Case(name: "Storing a blob twice keeps it") { open in
            let store = try open()
            let bytes = makeBytes(1000)
            for _ in 0..<2 { try await store.put(bytes, as: BlobID(of: bytes)) }
            try expectEqual(try await store.read(BlobID(of: bytes), at: 0, count: 1001), bytes)
        },
    ]
}

// MARK: Uploads

extension MediaStoreConformance {
    /// Opens an upload and appends bytes in parts.
    private static func begin(
        _ upload: UploadID, _ bytes: [UInt8], in store: any MediaStore
    ) async throws -> any UploadFile {
        let file = try await store.open(upload, at: 0)
        for start in stride(from: 0, to: bytes.count, by: 300_000) {
            try await file.append(Array(bytes[start..<min(bytes.count, start + 300_000)]))
        }
        return file
    }

    private static let uploads: [Case] = [
        Case(name: "An upload becomes a blob, whatever its size") { open in
            let store = try open()
            for size in [0, 1, 700_001, 17_000_000] {
                let bytes = makeBytes(size, UInt64(size))
                let (upload, blob) = (UploadID(), BlobID(of: bytes))
                let file = try await begin(upload, bytes, in: store)
                try expectEqual(try await file.hash(), blob, "the hash")
                let isSame = try await file.examine { (data) throws(ChatError) in data.elementsEqual(bytes) }
                try expect(isSame, "the upload has other bytes")
                // A repeated upload stores the same blob again.
                for _ in 0..<2 { try await file.persist(as: blob) }
                await file.close()
                try await store.remove(upload)
                try expect(try await store.read(blob, at: 0, count: size + 1) == bytes, "the blob has other bytes")
            }
            try expectEqual(try await store.uploads(), [], "the uploads")
        },
        Case(name: "An upload resumes at an offset that was synced, and later bytes are cut off") { open in
            let bytes = makeBytes(500_000)
            let upload = UploadID()
            let first = try await begin(upload, Array(bytes[..<200_000]), in: try open())
            try await first.sync()
            try await first.append(Array(bytes[200_000..<300_000]))
            try await first.sync()
            try await first.append([1, 2, 3])
            await first.close()
            let store = try open()
            try expectEqual(try await store.uploads(), [upload], "the uploads")
            let second = try await store.open(upload, at: 200_000)
            try await second.append(Array(bytes[200_000...]))
            try await second.sync()
            try expectEqual(try await second.hash(), BlobID(of: bytes), "the hash")
            try await second.persist(as: BlobID(of: bytes))
            await second.close()
            try expectEqual(try await store.read(BlobID(of: bytes), at: 0, count: 500_001), bytes)
            // It resumes again, after the last byte.
            let third = try await open().open(upload, at: 500_000)
            try expectEqual(try await third.hash(), BlobID(of: bytes), "the hash")
            await third.close()
        },
        Case(name: "An upload with missing bytes is unknown") { open in
            let store = try open()
            let upload = UploadID()
            try await expectCode(.unknownUpload, "an unknown upload") { _ = try await store.open(upload, at: 1) }
            let file = try await begin(upload, makeBytes(1000), in: store)
            try await file.sync()
            await file.close()
            try await expectCode(.unknownUpload, "too large an offset") { _ = try await store.open(upload, at: 1001) }
            try await store.remove(upload)
            try expectEqual(try await store.uploads(), [], "the uploads")
            try await expectCode(.unknownUpload, "a removed upload") { _ = try await store.open(upload, at: 1000) }
            try await store.remove(upload)
        },
        Case(name: "An upload that is opened at its beginning starts over") { open in
            let store = try open()
            let upload = UploadID()
            let first = try await begin(upload, makeBytes(9000, 1), in: store)
            try await first.sync()
            await first.close()
            let bytes = makeBytes(4000, 2)
            let second = try await begin(upload, bytes, in: store)
            try await second.sync()
            await second.close()
            try await expectCode(.unknownUpload, "an earlier offset") { _ = try await store.open(upload, at: 9000) }
            let third = try await store.open(upload, at: 4000)
            try expectEqual(try await third.hash(), BlobID(of: bytes), "the hash")
            await third.close()
        },
        Case(name: "An upload that resumes after any number of crashes has the original bytes") { open in
            for seed in 1...4 as ClosedRange<UInt64> { try await crash(seed, open) }
        },
    ]

    private static func crash(_ seed: UInt64, _ open: () throws -> any MediaStore) async throws {
        var generator = SplitMix64(seed: seed)
        let bytes = makeBytes(1 + generator.below(400_000), seed)
        let upload = UploadID()
        var committed = 0
        var sent = 0
        var store = try open()
        var file = try await store.open(upload, at: 0)
        while sent < bytes.count {
            let part = Array(bytes[sent...].prefix(1 + generator.below(90_000)))
            try await file.append(part)
            sent += part.count
            switch generator.below(6) {
            case 0, 1:
                try await file.sync()
                // The commit can be lost although the bytes are durable.
                if generator.chance(50) { committed = sent }
            case 2:
                // The server crashes. The client sends the uncommitted bytes again.
                if generator.chance(50) { await file.close() }
                store = try open()
                file = try await store.open(upload, at: Int64(committed))
                sent = committed
            default: break
            }
        }
        let blob = BlobID(of: bytes)
        try expectEqual(try await file.hash(), blob, "the hash of the upload with the seed \(seed)")
        try await file.persist(as: blob)
        await file.close()
        try await store.remove(upload)
        try expectEqual(try await store.uploads(), [], "the uploads")
        try expect(try await store.read(blob, at: 0, count: bytes.count + 1) == bytes, "the blob has other bytes")
    }
}
