import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport
import Synchronization

/// An upload that is encrypted while it is received.
///
/// Complete chunks are appended to the upload's file. On `sync`, the incomplete last chunk is encrypted into a separate
/// file, which is replaced atomically. A crash therefore never damages synced bytes.
final class EncryptedUpload: LocalUpload {
    private let file: URL
    private let tailFile: URL
    private let directory: MediaDirectory
    private let threads: FileThreads
    private let encryptedFile: EncryptedFile
    private let state: Mutex<State>

    /// The number of bytes that `examine` passes.
    ///
    /// Image metadata always lies within them.
    private static let maximumExaminedBytes = 64 << 20

    private struct State {
        /// -1 after the file is closed.
        var descriptor: Int32
        /// The number of complete chunks in the file.
        var chunks: Int64 = 0
        /// The bytes of the incomplete last chunk.
        var tail: [UInt8] = []
        /// The hash of all bytes, or `nil` if an earlier request wrote some of them.
        var hasher: BlobHasher?
        /// Whether the file's directory entry may not be synced yet.
        var isNew: Bool
    }

    /// Starts a new upload.
    init(
        new upload: UploadID, encryptedWith key: StoreKey, _ directory: MediaDirectory, _ threads: FileThreads
    ) throws(ChatError) {
        file = directory.url(of: upload, isEncrypted: true)
        tailFile = directory.tail(of: upload)
        self.directory = directory
        self.threads = threads
        encryptedFile = EncryptedFile(encryptedWith: key)
        // Delete instead of truncating, because an existing file can be a hard link to a blob.
        unlink(file.path)
        unlink(tailFile.path)
        let descriptor = Foundation.open(file.path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw DurableFile.failure("Can't create \(file.path)") }
        state = Mutex(State(descriptor: descriptor, hasher: BlobHasher(), isNew: true))
        try writeHeader(name: upload.text, size: 0)
    }

    /// Resumes an upload with `offset` persisted bytes.
    init(
        _ upload: UploadID, at offset: Int64, keys: StoreKeys?, _ directory: MediaDirectory, _ threads: FileThreads
    ) throws(ChatError) {
        file = directory.url(of: upload, isEncrypted: true)
        tailFile = directory.tail(of: upload)
        self.directory = directory
        self.threads = threads
        let descriptor = Foundation.open(file.path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { throw DiskUpload.dataLost }
            throw DurableFile.failure("Can't open \(file.path)")
        }
        do throws(ChatError) {
            let header = try DurableFile.read(descriptor, at: 0, count: EncryptedFile.headerSize)
            // Accept any name, because the header may already contain the blob's name. The hash verifies the content
            // later.
            encryptedFile = try EncryptedFile(header: header, name: nil, length: nil, path: file.path, keys: keys)
        } catch {
            // The deinitializer runs only if all properties have a value.
            Foundation.close(descriptor)
            throw error
        }
        state = Mutex(State(descriptor: descriptor, isNew: false))
        let chunks = offset / Int64(EncryptedFile.chunkSize)
        let end = EncryptedFile.offset(ofChunk: chunks)
        guard lseek(descriptor, 0, SEEK_END) >= off_t(end) else { throw DiskUpload.dataLost }
        let tail = try self.tail(chunks, count: Int(offset % Int64(EncryptedFile.chunkSize)), descriptor)
        try state.withLock { (state) throws(ChatError) in
            state.descriptor = try directory.detach(file, state.descriptor, count: end)
            state.chunks = chunks
            state.tail = tail
            // Discard bytes after the persisted offset, because they were not synced.
            guard ftruncate(state.descriptor, off_t(end)) == 0 else {
                throw DurableFile.failure("Can't write \(file.path)")
            }
        }
    }

    deinit { state.withLock { if $0.descriptor >= 0 { Foundation.close($0.descriptor) } } }

    /// Returns the persisted bytes of an incomplete chunk.
    ///
    /// They are in the separate file, or in the upload's file if the chunk was completed before the server stopped.
    private func tail(_ chunk: Int64, count: Int, _ descriptor: Int32) throws(ChatError) -> [UInt8] {
        guard count > 0 else { return [] }
        if let opened = try? encryptedFile.chunk(chunk, from: descriptor, file.path), opened.count >= count {
            return Array(opened.prefix(count))
        }
        guard let record = try? Data(contentsOf: tailFile) else { throw DiskUpload.dataLost }
        let opened = record.withUnsafeBytes { record in
            Result { () throws(ChatError) in try encryptedFile.decrypt(record, chunk: chunk, path: tailFile.path) }
        }
        let bytes = try opened.get()
        guard bytes.count >= count else { throw DiskUpload.dataLost }
        return Array(bytes.prefix(count))
    }

    private func writeHeader(name: String, size: Int64) throws(ChatError) {
        let header = try DiskMediaStore.encrypting { try encryptedFile.header(name: name, size: size) }
        try DurableFile.write(header, to: state.withLock { $0.descriptor }, at: 0, file)
    }

    func append(_ bytes: [UInt8]) async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            try directory.checkFreeSpace()
            try state.withLock { (state) throws(ChatError) in
                bytes.withUnsafeBytes { state.hasher?.update($0) }
                state.tail += bytes
                let full = state.tail.count / EncryptedFile.chunkSize
                guard full > 0 else { return }
                var records: [UInt8] = []
                records.reserveCapacity(full * EncryptedFile.encryptedChunkSize)
                for index in 0..<full {
                    let chunk = state.tail[(index * EncryptedFile.chunkSize)..<((index + 1) * EncryptedFile.chunkSize)]
                    let number = state.chunks + Int64(index)
                    records += try DiskMediaStore.encrypting {
                        try chunk.withUnsafeBytes { try encryptedFile.encrypt($0, chunk: number) }
                    }
                }
                try DurableFile.write(
                    records, to: state.descriptor, at: EncryptedFile.offset(ofChunk: state.chunks), file)
                state.chunks += Int64(full)
                state.tail.removeFirst(full * EncryptedFile.chunkSize)
            }
        }
    }

    func sync() async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            try syncBytes()
            let (chunk, tail, isNew) = state.withLock { ($0.chunks, $0.tail, $0.isNew) }
            if !tail.isEmpty {
                // If a crash leaves a tail of a later chunk than the database records, the earlier chunks are already
                // synced.
                let record = try DiskMediaStore.encrypting {
                    try tail.withUnsafeBytes { try encryptedFile.encrypt($0, chunk: chunk) }
                }
                let new = directory.newFile()
                try DurableFile.write(record, to: new)
                try DurableFile.rename(new, to: tailFile)
            }
            if isNew || !tail.isEmpty { try DurableFile.sync(directory.uploads) }
            state.withLock { $0.isNew = false }
        }
    }

    private func syncBytes() throws(ChatError) {
        guard fdatasync(state.withLock { $0.descriptor }) == 0 else {
            throw DurableFile.failure("Can't write the file")
        }
    }

    /// Passes all received bytes in chunks, until `body` returns `false`.
    private func readAll(_ body: (Data) -> Bool) throws(ChatError) {
        let (descriptor, chunks, tail) = state.withLock { ($0.descriptor, $0.chunks, $0.tail) }
        for chunk in 0..<chunks {
            guard body(try encryptedFile.chunk(chunk, from: descriptor, file.path)) else { return }
        }
        _ = body(Data(tail))
    }

    func hash() async throws(ChatError) -> BlobID {
        if let hasher = state.withLock({ $0.hasher }) { return hasher.finish() }
        return try await hashStoredBytes(on: threads)
    }

    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try await threads.blocking { [self] () throws(ChatError) in
            var beginning = Data()
            try readAll { data in
                beginning += data
                return beginning.count < Self.maximumExaminedBytes
            }
            return try body(beginning)
        }
    }

    /// The number of appended bytes.
    private var size: Int64 { state.withLock { $0.chunks * Int64(EncryptedFile.chunkSize) + Int64($0.tail.count) } }

    func complete(named name: String) throws(ChatError) -> (file: URL, length: Int64) {
        let (descriptor, chunks, tail) = state.withLock { ($0.descriptor, $0.chunks, $0.tail) }
        if !tail.isEmpty {
            let record = try DiskMediaStore.encrypting {
                try tail.withUnsafeBytes { try encryptedFile.encrypt($0, chunk: chunks) }
            }
            try DurableFile.write(record, to: descriptor, at: EncryptedFile.offset(ofChunk: chunks), file)
        }
        try writeHeader(name: name, size: size)
        return (file, EncryptedFile.length(of: size))
    }

    func read(at offset: Int64, count: Int) throws(ChatError) -> [UInt8] {
        let (descriptor, chunks, tail) = state.withLock { ($0.descriptor, $0.chunks, $0.tail) }
        let (chunk, start) = offset.quotientAndRemainder(dividingBy: Int64(EncryptedFile.chunkSize))
        guard chunk <= chunks else { return [] }
        let bytes = chunk < chunks ? try encryptedFile.chunk(chunk, from: descriptor, file.path) : Data(tail)
        return Array(bytes.dropFirst(Int(start)).prefix(count))
    }

    func persist(as blob: BlobID) async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            // An existing blob of another size is damaged and gets replaced.
            if directory.size(of: blob) != size {
                _ = try complete(named: blob.description)
                try syncBytes()
                try DurableFile.addHardLink(file, directory.url(of: blob, isEncrypted: true), by: directory.newFile())
            }
            // A concurrent writer may not have synced the directory yet.
            try DurableFile.sync(directory.folder(of: blob))
        }
    }

    func close() async {
        state.withLock { state in
            if state.descriptor >= 0 { Foundation.close(state.descriptor) }
            state.descriptor = -1
        }
    }
}
