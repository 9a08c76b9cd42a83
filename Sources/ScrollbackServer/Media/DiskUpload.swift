import Foundation
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// An upload's file, while one request writes it.
final class DiskUpload: UploadFile {
    private let file: URL
    private let directory: MediaDirectory
    private let threads: NIOThreadPool
    private let state: Mutex<State>

    private struct State {
        /// Below 0 once it is closed.
        var descriptor: Int32
        /// Of all bytes from the first, where all of them came by here.
        var hasher: BlobHasher?
        /// Whether the file's name may not be on disk yet.
        var isNew: Bool
    }

    init(
        _ upload: UploadID, at offset: Int64, _ directory: MediaDirectory, _ threads: NIOThreadPool
    ) throws(ChatError) {
        file = directory.url(of: upload)
        self.directory = directory
        self.threads = threads
        let descriptor = Foundation.open(file.path, O_RDWR | O_CLOEXEC | (offset == 0 ? O_CREAT : 0), 0o600)
        guard descriptor >= 0 else {
            if errno == ENOENT { throw Self.lost }
            throw DurableFile.failure("\(file.path) can't be opened")
        }
        state = Mutex(State(descriptor: descriptor, hasher: offset == 0 ? BlobHasher() : nil, isNew: offset == 0))
        guard lseek(descriptor, 0, SEEK_END) >= off_t(offset) else { throw Self.lost }
        try state.withLock { (state) throws(ChatError) in
            state.descriptor = try directory.separate(file, state.descriptor, count: offset)
            // What lies behind was not synced: the row says how much is on disk, not the file.
            guard ftruncate(state.descriptor, off_t(offset)) == 0,
                lseek(state.descriptor, off_t(offset), SEEK_SET) == offset
            else { throw DurableFile.failure("\(file.path) can't be written") }
        }
    }

    deinit { state.withLock { if $0.descriptor >= 0 { Foundation.close($0.descriptor) } } }

    static var lost: ChatError { ChatError(.unknownUpload, "bytes of the upload were lost: begin it anew") }

    func append(_ bytes: [UInt8]) async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            try directory.checkRoom()
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
            throw DurableFile.failure("the file can't be written")
        }
    }

    func hash() async throws(ChatError) -> BlobID {
        if let hasher = state.withLock({ $0.hasher }) { return hasher.finish() }
        return try await threads.blocking { [file] () throws(ChatError) in
            var hasher = BlobHasher()
            _ = try DurableFile.read(file) { (bytes) throws(ChatError) in hasher.update(bytes) }
            return hasher.finish()
        }
    }

    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try await threads.blocking { [file] () throws(ChatError) in
            let data: Data
            do {
                data = try Data(contentsOf: file, options: .alwaysMapped)
            } catch {
                throw ChatError(.internalError, "\(file.path) can't be read", cause: error)
            }
            return try body(data)
        }
    }

    func keep(as blob: BlobID) async throws(ChatError) {
        try await threads.blocking { [self] () throws(ChatError) in
            // Where it is written next is its end.
            let size = lseek(state.withLock { $0.descriptor }, 0, SEEK_END)
            guard size >= 0 else { throw DurableFile.failure("\(file.path) can't be read") }
            // Of another length it was damaged: these bytes are right.
            if directory.size(of: blob) != Int64(size) {
                try syncBytes()
                try DurableFile.giveSecondName(file, directory.url(of: blob), by: directory.newFile())
            }
            // Whoever put it there may not have got this far.
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
