import Foundation
import Logging
import ScrollbackEngine
import ScrollbackModel

extension ServerOptions {
    /// Connects to the store of the option `--files`, and checks it.
    ///
    /// - Returns: `nil` if files are in the data directory.
    /// - Throws: `invalid-parameter` if the store or the data directory can't be used.
    func connectFiles(logger: Logger) async throws(ChatError) -> S3Client? {
        let isMarked = DirectoryMarker.s3.exists(in: directory)
        guard let filesURL else {
            guard !isMarked else {
                throw .invalidParameter(
                    "files",
                    "is missing: the files of \(directory.path) are in an S3 store. Start the server with its URL, or "
                        + "choose another data directory")
            }
            return nil
        }
        let location = try S3Location(filesURL)
        let media = MediaDirectory(in: directory)
        guard isMarked || media.list(after: nil, limit: 1).isEmpty && media.listUploads().isEmpty else {
            throw .invalidParameter(
                "files", "can't be used with \(directory.path), which has files. Choose another data directory")
        }
        let credentials = try S3Credentials(environment: ProcessInfo.processInfo.environment)
        // The error of the check ends the server, and is not logged in addition.
        let silent = Logger(label: logger.label) { _ in SwiftLogNoOpLogHandler() }
        try await S3Client(location, credentials, authorities: filesAuthorities, logger: silent).check()
        return S3Client(location, credentials, authorities: filesAuthorities, logger: logger)
    }

    /// Opens the storage of files.
    ///
    /// - Parameters:
    ///   - client: The client that ``connectFiles(logger:)`` returned.
    ///   - store: The store with the rows of the files.
    func openMedia(
        _ client: S3Client?, of store: any MessageStore, threads: FileThreads
    ) async throws -> any MediaStore {
        guard let client else { return try DiskMediaStore(in: directory, threads: threads, keys: storeKeys) }
        let media = try S3MediaStore(
            client, in: directory, threads: threads, keys: storeKeys, isShared: busURL != nil,
            removalDelay: filesRemovalDelay)
        let place = client.location.name
        if DirectoryMarker.s3.place(in: directory) != place {
            // The cleanup removes files without a row. They may be the files of another store.
            let blobs = try await media.blobs(after: nil, limit: 100)
            let isOwn = try store.read { reader in try blobs.contains { try reader.isUsed($0) } }
            guard blobs.isEmpty || isOwn else {
                throw ChatError.invalidParameter(
                    "files",
                    "names a part of a bucket with files of another server. Use another bucket, or another prefix=")
            }
            try DirectoryMarker.s3.create(in: directory, naming: place)
        }
        return media
    }
}
