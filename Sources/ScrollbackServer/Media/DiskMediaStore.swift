import Foundation
import NIOPosix
import ScrollbackEngine
import ScrollbackModel

/// Files on disk, written and read a part at a time on threads of their own.
final class DiskMediaStore: MediaStore {
    private let directory: MediaDirectory
    private let threads: NIOThreadPool

    /// - Parameter data: the server's data directory, where the folders are made.
    init(in data: URL, threads: NIOThreadPool) throws(ChatError) {
        directory = MediaDirectory(in: data)
        self.threads = threads
        try directory.make()
        // What a thumbnail that was being written has left.
        for folder in directory.names(in: directory.blobs) {
            let folder = directory.blobs.appending(component: folder)
            for name in directory.names(in: folder) where name.hasSuffix(Self.unfinished) {
                unlink(folder.appending(component: name).path)
            }
        }
    }

    private static let unfinished = ".new"

    func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile {
        try await threads.blocking { [directory, threads] () throws(ChatError) in
            try DiskUpload(upload, at: offset, directory, threads)
        }
    }

    func remove(_ upload: UploadID) async throws(ChatError) {
        try await threads.blocking { [directory] () throws(ChatError) in try Self.remove(directory.url(of: upload)) }
    }

    func uploads() async throws(ChatError) -> [UploadID] {
        try await threads.blocking { [directory] () throws(ChatError) in
            directory.names(in: directory.uploads).compactMap { UploadID($0) }
        }
    }

    func put(_ bytes: [UInt8], as blob: BlobID) async throws(ChatError) {
        try await threads.blocking { [directory] () throws(ChatError) in
            guard directory.size(of: blob) != Int64(bytes.count) else { return }
            let isNew = try directory.makeFolder(directory.folder(of: blob))
            let file = directory.url(of: blob)
            let partial = file.appendingPathExtension("new")
            do throws(ChatError) {
                try DurableFile.write(Data(bytes), to: partial)
            } catch {
                unlink(partial.path)
                throw error
            }
            try DurableFile.rename(partial, to: file)
            try DurableFile.sync(directory.folder(of: blob))
            if isNew { try DurableFile.sync(directory.blobs) }
        }
    }

    func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile {
        try await threads.blocking { [directory, threads] () throws(ChatError) in
            try DiskBlob(directory.url(of: blob), threads)
        }
    }

    func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID] {
        try await threads.blocking { [directory] () throws(ChatError) in directory.list(after: after, limit: limit) }
    }

    func remove(_ blob: BlobID) async throws(ChatError) {
        try await threads.blocking { [directory] () throws(ChatError) in try Self.remove(directory.url(of: blob)) }
    }

    private static func remove(_ file: URL) throws(ChatError) {
        guard unlink(file.path) == 0 || errno == ENOENT else {
            throw DurableFile.failure("\(file.path) can't be removed")
        }
    }
}

/// Lets every other thread go first: messages don't wait for the hashing and copying of files.
private func giveWay() {
    #if os(Linux)
        // Priorities are threads' own here; this one's is changed once, and again to no effect.
        setpriority(Int32(PRIO_PROCESS.rawValue), 0, 10)
    #endif
}

extension NIOThreadPool {
    /// Runs what waits for the disk.
    func blocking<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            submit { state in
                guard case .active = state else {
                    return continuation.resume(
                        returning: .failure(ChatError(.shuttingDown, "the server is shutting down")))
                }
                giveWay()
                continuation.resume(returning: Result { () throws(ChatError) in try body() })
            }
        }
        return try result.get()
    }
}
