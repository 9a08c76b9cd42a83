import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Media files in a bucket of an S3-compatible store, which several servers can use.
///
/// | key | content |
/// |---|---|
/// | `blobs/HASH` | a complete file |
/// | `uploads/UPLOAD/OFFSET-LENGTH-TIME` | a segment of an upload in progress, see ``UploadSegment`` |
/// | `removed/HASH/REMOVAL` | a file that was removed from a shared store, see ``purge(_:)`` |
///
/// Keys of encrypted objects end with `.sealed`, and their bytes have the format of encrypted files on disk. Nothing
/// depends on conditional requests, which are not atomic in every store.
final class S3MediaStore: MediaStore {
    let client: S3Client
    /// Has the local files of uploads while requests write them.
    let directory: MediaDirectory
    let threads: FileThreads
    /// The storage encryption keys, or `nil` for no encryption.
    let keys: StoreKeys?
    /// Whether other servers use the bucket at the same time.
    let isShared: Bool
    /// How many seconds the bytes of removed files stay in a shared bucket.
    ///
    /// It must be longer than any server needs from finding a blob to storing its row.
    let removalDelay: TimeInterval
    private let clock: @Sendable () -> Date
    private let budget: ReadAheadBudget

    /// Opens the store, and removes local files that a previous process left.
    ///
    /// - Parameter data: The server's data directory.
    init(
        _ client: S3Client, in data: URL, threads: FileThreads, keys: StoreKeys? = nil, isShared: Bool = false,
        removalDelay: TimeInterval = ServerOptions.standardRemovalDelay,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) throws(ChatError) {
        self.client = client
        self.threads = threads
        self.keys = keys
        self.isShared = isShared
        self.removalDelay = removalDelay
        self.clock = clock
        budget = ReadAheadBudget()
        directory = MediaDirectory(in: data)
        try directory.makeUploads()
        for upload in directory.listUploads() {
            for file in directory.files(of: upload) { try DiskMediaStore.remove(file) }
        }
    }

    private init(_ store: S3MediaStore, for owner: WorkOwner) {
        client = store.client
        directory = store.directory
        threads = store.threads.serving(owner)
        keys = store.keys
        isShared = store.isShared
        removalDelay = store.removalDelay
        clock = store.clock
        budget = store.budget
    }

    func serving(_ owner: WorkOwner) -> any MediaStore { S3MediaStore(self, for: owner) }

    /// Whether new objects are encrypted.
    var encrypts: Bool { keys?.newest != nil }

    static var missing: ChatError { ChatError(.unknownMedia, "The content of the file does not exist anymore.") }

    static func damaged(_ object: String) -> ChatError {
        ChatError(.internalError, "The bytes of \(object) in the store of files are damaged.").withoutPaths
    }

    // MARK: Keys

    static let encryptedSuffix = ".sealed"

    func key(of blob: BlobID, isEncrypted: Bool) -> String {
        blobs + blob.description + (isEncrypted ? Self.encryptedSuffix : "")
    }

    func key(of segment: UploadSegment, _ upload: UploadID) -> String { folder(of: upload) + segment.name }

    var blobs: String { "\(client.location.prefix)blobs/" }
    private var uploadsPrefix: String { "\(client.location.prefix)uploads/" }

    private func folder(of upload: UploadID) -> String { "\(uploadsPrefix)\(upload.text)/" }

    // MARK: Uploads

    func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile {
        let segments = offset > 0 ? try await prepareSegments(of: upload, before: offset) : nil
        return S3Upload(upload, at: offset, try await makeLocalFile(), segments, in: self)
    }

    /// Selects the segments before an offset, and deletes all others if possible.
    ///
    /// - Throws: `unknown-upload` if bytes are missing.
    func prepareSegments(of upload: UploadID, before offset: Int64) async throws(ChatError) -> UploadSegments {
        let now = Int64(clock().timeIntervalSince1970 * 1000)
        guard let selected = UploadSegments(try await segments(of: upload), before: offset, now: now) else {
            throw DiskUpload.dataLost
        }
        // Segments that can't be deleted now are still not selected later.
        try? await client.delete(selected.obsolete.map { key(of: $0, upload) })
        return selected
    }

    /// The stored segments of an upload.
    func segments(of upload: UploadID) async throws(ChatError) -> [UploadSegment] {
        let folder = folder(of: upload)
        return try await client.listAll(folder).keys.compactMap { UploadSegment(name: $0.dropFirst(folder.count)) }
    }

    /// The name under which an encrypted segment can be decrypted.
    private func name(of segment: UploadSegment, _ upload: UploadID) -> String { "\(upload.text)/\(segment.name)" }

    /// Stores a part of a local file as a segment.
    func put(
        _ segment: UploadSegment, of upload: UploadID, from file: LocalFile, at offset: Int64
    ) async throws(ChatError) {
        let key = key(of: segment, upload)
        guard segment.isEncrypted else {
            let (url, _) = try await threads.blocking { () throws(ChatError) in try file.upload.complete(named: key) }
            let part = FilePart(file: url, offset: offset, count: segment.length, threads: threads)
            return try await client.put(.file(part), as: key)
        }
        // The chunks of the local file have other numbers.
        let copy = try await makeLocalFile()
        do throws(ChatError) {
            try await self.copy(file, at: offset, count: segment.length, into: copy)
            try await put(copy, named: name(of: segment, upload), as: key)
        } catch {
            await remove(copy)
            throw error
        }
        await remove(copy)
    }

    /// Appends a part of a segment to a local file.
    ///
    /// - Throws: `unknown-upload` if the segment does not exist, or has another length than its name says.
    func load(_ part: UploadSegments.Part, of upload: UploadID, into file: LocalFile) async throws(ChatError) {
        let segment = part.segment
        let object = try await object(
            key(of: segment, upload), named: name(of: segment, upload), isEncrypted: segment.isEncrypted)
        guard let object, object.size == segment.length else { throw DiskUpload.dataLost }
        try await copy(object, count: part.count, into: file)
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
        guard encrypts else { return try await client.put(.bytes(bytes), as: key(of: blob, isEncrypted: false)) }
        let file = try await makeLocalFile()
        do throws(ChatError) {
            try await file.upload.append(bytes)
            try await put(file, as: blob)
        } catch {
            await remove(file)
            throw error
        }
        await remove(file)
    }

    /// Stores a local file as a blob.
    func put(_ file: LocalFile, as blob: BlobID) async throws(ChatError) {
        try await put(file, named: blob.description, as: key(of: blob, isEncrypted: encrypts))
    }

    /// Returns the size of a blob, or `nil` if it does not exist.
    func size(of blob: BlobID) async throws(ChatError) -> Int64? { try await object(of: blob)?.size }

    /// Returns the object of a blob, or `nil` if it does not exist.
    func object(of blob: BlobID) async throws(ChatError) -> S3Object? {
        for isEncrypted in keys == nil ? [false] : [true, false] {
            let key = key(of: blob, isEncrypted: isEncrypted)
            if let found = try await object(key, named: blob.description, isEncrypted: isEncrypted) { return found }
        }
        return nil
    }

    func object(
        _ key: String, named name: String, isEncrypted: Bool
    ) async throws(ChatError) -> S3Object? {
        guard isEncrypted else {
            return try await client.size(of: key).map { S3Object(key, length: $0, format: nil, client, budget) }
        }
        guard let found = try await client.get(key, at: 0, count: EncryptedFile.headerSize) else { return nil }
        do throws(ChatError) {
            let format = try EncryptedFile(header: found.bytes, name: name, length: found.size, path: key, keys: keys)
            return S3Object(key, length: found.size, format: format, client, budget)
        } catch {
            throw error.withoutPaths
        }
    }

    func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile {
        if let object = try await object(of: blob) { return S3Blob(blob, object, in: self) }
        if let object = try await removedObject(of: blob) { return S3Blob(blob, object, in: self) }
        // It may have been restored in between.
        guard isShared, let object = try await object(of: blob) else { throw Self.missing }
        return S3Blob(blob, object, in: self)
    }

    func read(_ blob: BlobID, at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        guard keys == nil else { return try await open(blob).read(at: offset, count: count) }
        // An empty range is not possible in a request, but a missing blob must be noticed.
        let found = try await client.get(key(of: blob, isEncrypted: false), at: offset, count: max(1, count))
        guard let found else { return try await open(blob).read(at: offset, count: count) }
        guard Int64(found.bytes.count) < found.size || BlobID(of: found.bytes) == blob else {
            throw Self.damaged(blob.description)
        }
        return Array(found.bytes.prefix(count))
    }

    func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID] {
        var found: [BlobID] = []
        var token: String?
        repeat {
            // The key of the last form of the blob.
            let page = try await client.list(
                blobs, after: token == nil ? after.map { key(of: $0, isEncrypted: true) } : nil,
                limit: min(1000, limit - found.count), token: token)
            for key in page.keys {
                if let blob = blob(named: key.dropFirst(blobs.count)), blob != found.last { found.append(blob) }
            }
            token = page.next
        } while token != nil && found.count < limit
        return found
    }

    /// Returns the blob whose name is the last part of a key, with or without the suffix of encrypted objects.
    func blob(named name: Substring) -> BlobID? {
        let isEncrypted = name.hasSuffix(Self.encryptedSuffix)
        return BlobID(hexadecimal: String(name.dropLast(isEncrypted ? Self.encryptedSuffix.count : 0)))
    }
}
