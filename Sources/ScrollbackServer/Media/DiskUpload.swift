import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The unencrypted file of an upload while a request writes to it.
final class DiskUpload: UploadFile {
    let file: URL
    private let directory: MediaDirectory
    private let threads: FileThreads
    private let state: Mutex<State>

    private struct State {
        /// -1 after the file is closed.
        var descriptor: Int32
        /// The hash of all bytes, or `nil` if an earlier request wrote some of them.
        var hasher: BlobHasher?
        /// Whether the file's directory entry may not be synced yet.
        var isNew: Bool
    }

    init(
        _ upload: UploadID, at offset: Int64, _ directory: MediaDirectory, _ threads: FileThreads
    ) throws(ChatError) {
        file = directory.url(of: upload)
        self.directory = directory
        self.threads = threads
        let descriptor = Foundation.open(file.path, O_RDWR | O_CLOEXEC | (offset == 0 ? O_CREAT : 0), 0o600)
        guard descriptor >= 0 else {
            if errno == ENOENT { throw Self.dataLost }
            throw DurableFile.failure("Can't open \(file.path)")
        }
        state = Mutex(State(descriptor: descriptor, hasher: offset == 0 ? BlobHasher() : nil, isNew: offset == 0))
        guard lseek(descriptor, 0, SEEK_END) >= off_t(offset) else { throw Self.dataLost }
        try state.withLock { (state) throws(ChatError) in
            state.descriptor = try directory.detach(file, state.descriptor, count: offset)
            // Discard bytes after the persisted offset, because they were not synced.
            guard ftruncate(state.descriptor, off_t(offset)) == 0,
                lseek(state.descriptor, off_t(offset), SEEK_SET) == offset
            else { throw DurableFile.failure("Can't write \(file.path)") }
        }
    }

    deinit { state.withLock { if $0.descriptor >= 0 { Foundation.close($0.descriptor) } } }

    var openDescriptor: Int32 { state.withLock { $0.descriptor } }

    static var dataLost: ChatError { ChatError(.unknownUpload, "Data of the upload was lost. Start a new upload.") }

    func append(_ bytes: [UInt8]) async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            try directory.checkFreeSpace()
            let result = state.withLock { state in
                bytes.withUnsafeBytes { bytes in
                    Result { () throws(ChatError) in
                        try DurableFile.write(bytes, to: state.descriptor, file)
                        state.hasher?.update(bytes)
                    }
                }
            }
            try result.get()
        }
    }

    func sync() async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            try syncBytes()
            guard state.withLock({ $0.isNew }) else { return }
            try DurableFile.sync(directory.uploads)
            state.withLock { $0.isNew = false }
        }
    }

    private func syncBytes() throws(ChatError) {
        guard fdatasync(state.withLock { $0.descriptor }) == 0 else {
            throw DurableFile.failure("Can't write the file")
        }
    }

    func hash() async throws(ChatError) -> BlobID {
        if let hasher = state.withLock({ $0.hasher }) { return hasher.finish() }
        return try await hashStoredBytes(on: threads)
    }

    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try await threads.blocking { [file] () throws(ChatError) in
            let data: Data
            do {
                data = try Data(contentsOf: file, options: .alwaysMapped)
            } catch {
                throw ChatError(.internalError, "Can't read \(file.path).", cause: error)
            }
            return try body(data)
        }
    }

    func persist(as blob: BlobID) async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            // The upload writes sequentially, so the file ends at the current position.
            let size = lseek(state.withLock { $0.descriptor }, 0, SEEK_END)
            guard size >= 0 else { throw DurableFile.failure("Can't read \(file.path)") }
            // An existing blob of another size is damaged and gets replaced.
            if directory.size(of: blob) != Int64(size) {
                try syncBytes()
                try DurableFile.addHardLink(file, directory.url(of: blob), by: directory.newFile())
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
