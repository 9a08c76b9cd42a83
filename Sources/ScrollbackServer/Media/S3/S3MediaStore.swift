import Foundation
import NIOPosix
import ScrollbackEngine
import ScrollbackModel

/// Media files in a bucket of an S3-compatible store, which several servers can use.
///
/// | key | content |
/// |---|---|
/// | `blobs/HASH` | a complete file |
/// | `uploads/UPLOAD/OFFSET-LENGTH-TIME` | a segment of an upload in progress, see ``UploadSegment`` |
///
/// Nothing depends on conditional requests, which are not atomic in every store.
final class S3MediaStore: MediaStore {
    let client: S3Client
    /// Has the local files of uploads while requests write them.
    let directory: MediaDirectory
    let threads: NIOThreadPool
    private let clock: @Sendable () -> Date
    private let budget = ReadAheadBudget()

    /// The number of bytes of a segment that are read at a time.
    private static let stepBytes = 2 << 20

    /// Opens the store, and removes local files that a previous process left.
    ///
    /// - Parameter data: The server's data directory.
    init(
        _ client: S3Client, in data: URL, threads: NIOThreadPool, clock: @escaping @Sendable () -> Date = { Date() }
    ) throws(ChatError) {
        self.client = client
        self.threads = threads
        self.clock = clock
        directory = MediaDirectory(in: data)
        try directory.makeUploads()
        for upload in directory.listUploads() {
            for file in directory.files(of: upload) { try DiskMediaStore.remove(file) }
        }
    }

    static var missing: ChatError { ChatError(.unknownMedia, "The content of the file does not exist anymore.") }

    // MARK: Keys

    func key(of blob: BlobID) -> String { blobs + blob.description }

    func key(of segment: UploadSegment, _ upload: UploadID) -> String { folder(of: upload) + segment.name }

    private var blobs: String { "\(client.location.prefix)blobs/" }
    private var uploadsPrefix: String { "\(client.location.prefix)uploads/" }

    private func folder(of upload: UploadID) -> String { "\(uploadsPrefix)\(upload.text)/" }

    // MARK: Uploads

    func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile {
        guard offset > 0 else {
            return S3Upload(upload, at: 0, try await openLocalFile(of: upload, at: 0), nil, in: self)
        }
        let segments = try await prepareSegments(of: upload, before: offset)
        let local = try await openLocalFile(of: upload, at: offset)
        return S3Upload(upload, at: offset, local, segments, in: self)
    }

    private func openLocalFile(of upload: UploadID, at offset: Int64) async throws(ChatError) -> DiskUpload {
        try await threads.blocking { [directory, threads] () throws(ChatError) in
            let file = directory.url(of: upload)
            let descriptor = Foundation.open(file.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw DurableFile.failure("Can't create \(file.path)") }
            defer { close(descriptor) }
            // The earlier bytes remain a hole until they are needed.
            guard ftruncate(descriptor, off_t(offset)) == 0 else {
                throw DurableFile.failure("Can't write \(file.path)")
            }
            return try DiskUpload(upload, at: offset, directory, threads)
        }
    }

    func removeLocalFile(of upload: UploadID) async {
        // A file that can't be removed is removed when the server starts again.
        try? await threads.blocking { [directory] () throws(ChatError) in
            try DiskMediaStore.remove(directory.url(of: upload))
        }
    }

    /// Selects the segments before an offset, and deletes all others if possible.
    ///
    /// - Throws: `unknown-upload` if bytes are missing.
    func prepareSegments(of upload: UploadID, before offset: Int64) async throws(ChatError) -> UploadSegments {
        let folder = folder(of: upload)
        let found = try await client.listAll(folder).keys.compactMap { key in
            UploadSegment(name: key.dropFirst(folder.count))
        }
        let now = Int64(clock().timeIntervalSince1970 * 1000)
        guard let segments = UploadSegments(found, before: offset, now: now) else { throw DiskUpload.dataLost }
        // Segments that can't be deleted now are still not selected later.
        try? await client.delete(segments.obsolete.map { key(of: $0, upload) })
        return segments
    }

    /// Writes the first bytes of a segment to the local file.
    ///
    /// - Throws: `unknown-upload` if the segment does not exist, or has another length than its name says.
    func load(_ segment: UploadSegment, _ count: Int64, of upload: UploadID) async throws(ChatError) {
        let file = directory.url(of: upload)
        var place: Int64 = 0
        while place < count {
            let found = try await client.get(
                key(of: segment, upload), at: place, count: Int(min(Int64(Self.stepBytes), count - place)))
            guard let bytes = found?.bytes, found?.size == segment.length else { throw DiskUpload.dataLost }
            let offset = segment.offset + place
            try await threads.blocking { [directory] () throws(ChatError) in
                try directory.checkFreeSpace()
                let output = Foundation.open(file.path, O_WRONLY | O_CLOEXEC)
                guard output >= 0 else { throw DurableFile.failure("Can't open \(file.path)") }
                defer { close(output) }
                try DurableFile.write(bytes, to: output, at: offset, file)
            }
            place += Int64(bytes.count)
        }
    }

    func remove(_ upload: UploadID) async throws(ChatError) {
        try await client.delete(try await client.listAll(folder(of: upload)).keys)
    }

    func uploads() async throws(ChatError) -> [UploadID] {
        try await client.listAll(uploadsPrefix, delimiter: "/").folders.compactMap { folder in
            UploadID(String(folder.dropFirst(uploadsPrefix.count).dropLast()))
        }
    }

    // MARK: Blobs

    func put(_ bytes: [UInt8], as blob: BlobID) async throws(ChatError) {
        try await client.put(.bytes(bytes), as: key(of: blob))
    }

    func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile {
        let key = key(of: blob)
        guard let size = try await client.size(of: key) else { throw Self.missing }
        return S3Blob(blob, key: key, size: size, client, budget)
    }

    func read(_ blob: BlobID, at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        // An empty range is not possible in a request, but a missing blob must be noticed.
        guard let found = try await client.get(key(of: blob), at: offset, count: max(1, count)) else {
            throw Self.missing
        }
        guard Int64(found.bytes.count) < found.size || BlobID(of: found.bytes) == blob else {
            throw S3Blob.damaged(blob)
        }
        return Array(found.bytes.prefix(count))
    }

    func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID] {
        var found: [BlobID] = []
        var token: String?
        repeat {
            let page = try await client.list(
                blobs, after: token == nil ? after.map { key(of: $0) } : nil, limit: min(1000, limit - found.count),
                token: token)
            found += page.keys.compactMap { BlobID(hexadecimal: String($0.dropFirst(blobs.count))) }
            token = page.next
        } while token != nil && found.count < limit
        return found
    }

    func remove(_ blob: BlobID) async throws(ChatError) {
        try await client.delete(key(of: blob))
    }
}
