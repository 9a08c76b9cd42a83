import Crypto
package import Foundation
import SQLiteSupport
package import ScrollbackModel
import Synchronization

/// The file cache of one store.
///
/// Each file is stored once, under the SHA-256 hash of its content.
///
/// The store's tables record what the files are for. A file without a row was left by a crash and is deleted.
package struct LocalFiles: Sendable {
    /// The `files` directory of the store.
    package let directory: URL
    private let pins = Pins()
    private static let chunkSize = 1 << 20

    package init(directory: URL) {
        self.directory = directory
    }

    /// A stored file.
    package struct Stored: Sendable {
        /// The SHA-256 hash as 64 hexadecimal digits.
        package var hash: String
        package var size: Int64
        /// The first bytes, which identify the file type.
        package var prefix: Data
        /// Prevents the deletion of the file until a row refers to it.
        fileprivate let pin: Pin

        package var type: FileType { FileType(of: prefix) }
    }

    package func url(of hash: String) -> URL {
        directory.appending(path: String(hash.prefix(2))).appending(path: String(hash.dropFirst(2)))
    }

    /// The location of a partial download.
    package func partial(_ key: String) -> URL {
        directory.appending(path: "partial").appending(path: Self.hash(of: Data(key.utf8)))
    }

    package static func hash(of data: Data) -> String { SHA256.hash(data: data).hexadecimal }

    // MARK: Writing

    package func store(_ data: Data) throws(ChatError) -> Stored {
        try storing { () throws in
            let hash = Self.hash(of: data)
            let stored = Stored(
                hash: hash, size: Int64(data.count), prefix: data.prefix(FileType.prefixLength), pin: pins.pin(hash))
            if !isStored(stored) {
                try writing { new, handle throws in
                    try handle.write(contentsOf: data)
                    try handle.synchronize()
                    try keep(new, as: stored)
                }
            }
            return stored
        }
    }

    /// Copies a file into the cache in chunks.
    ///
    /// - Throws: `invalid-parameter` if it can't be read or is not a regular file. `media-too-large` or
    ///   `local-storage`.
    package func store(contentsOf file: URL, atMost limit: Int64) throws(ChatError) -> Stored {
        let source = try Self.open(file)
        defer { try? source.close() }
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path))?[.size] as? NSNumber
        guard size?.int64Value ?? 0 <= limit else { throw .mediaTooLarge(limit: limit) }
        return try storing { () throws in
            try writing { new, copy throws in
                let (hash, size, prefix) = try Self.read(source) { chunk, size throws in
                    guard size <= limit else { throw ChatError.mediaTooLarge(limit: limit) }
                    try copy.write(contentsOf: chunk)
                }
                try copy.synchronize()
                let stored = Stored(hash: hash, size: size, prefix: prefix, pin: pins.pin(hash))
                try keep(new, as: stored)
                return stored
            }
        }
    }

    /// Returns the bytes of a file of the app, which the app may change at any time.
    ///
    /// - Throws: `invalid-parameter` if it can't be read or is not a regular file, or `media-too-large`.
    package static func bytes(of file: URL, atMost limit: Int64) throws(ChatError) -> Data {
        let source = try open(file)
        defer { try? source.close() }
        let data: Data
        do {
            // Reading one byte more than permitted reveals that the file is too large.
            data = try source.read(upToCount: Int(clamping: limit == .max ? limit : limit + 1)) ?? Data()
        } catch {
            throw .unreadable(file, error)
        }
        guard data.count <= limit else { throw .mediaTooLarge(limit: limit) }
        return data
    }

    private static func open(_ file: URL) throws(ChatError) -> FileHandle {
        do {
            let values = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
            guard values.isRegularFile == true else { throw CocoaError(.fileReadUnsupportedScheme) }
            return try FileHandle(forReadingFrom: file)
        } catch {
            throw .unreadable(file, error)
        }
    }

    /// Moves a completed download into the cache.
    ///
    /// - Throws: `malformed` if its hash is not the expected one, or `local-storage`.
    package func keep(partial key: String, expecting expected: String?) throws(ChatError) -> Stored {
        let file = partial(key)
        return try storing { () throws in
            let handle = try FileHandle(forUpdating: file)
            defer { try? handle.close() }
            let (hash, size, prefix) = try Self.read(handle) { _, _ in }
            if let expected, expected != hash {
                try FileManager.default.removeItem(at: file)
                throw ChatError(.malformed, "The downloaded file is damaged: its hash does not match.")
            }
            try handle.synchronize()
            let stored = Stored(hash: hash, size: size, prefix: prefix, pin: pins.pin(hash))
            try keep(file, as: stored)
            return stored
        }
    }

    /// Appends a chunk to a partial download.
    package func append(_ chunk: Data, toPartial key: String, at offset: Int64) throws(ChatError) {
        try storing { () throws in
            let file = partial(key)
            if !FileManager.default.fileExists(atPath: file.path) {
                try PrivateFiles.createDirectory(file.deletingLastPathComponent())
                try PrivateFiles.createFile(file, errorCode: .localStorage)
            }
            let handle = try FileHandle(forWritingTo: file)
            defer { try? handle.close() }
            guard try handle.seekToEnd() >= offset else {
                throw ChatError(.malformed, "The partial download was deleted.")
            }
            try handle.truncate(atOffset: UInt64(offset))
            try handle.write(contentsOf: chunk)
        }
    }

    /// Returns the size of a partial download in bytes.
    package func sizeOfPartial(_ key: String) -> Int64 {
        let values = try? FileManager.default.attributesOfItem(atPath: partial(key).path)
        return (values?[.size] as? NSNumber)?.int64Value ?? 0
    }

    package func removePartial(_ key: String) {
        try? FileManager.default.removeItem(at: partial(key))
    }

    // MARK: Reading and removing

    /// Returns a chunk of a file.
    package func read(_ hash: String, from offset: Int64, upTo count: Int) throws(ChatError) -> Data {
        try storing { () throws in
            let handle = try FileHandle(forReadingFrom: url(of: hash))
            defer { try? handle.close() }
            try handle.seek(toOffset: UInt64(offset))
            return try handle.read(upToCount: count) ?? Data()
        }
    }

    /// Returns whether a file is stored completely; a file of another size is left from a power failure.
    package func isStored(_ hash: String, size: Int64) -> Bool {
        let values = try? FileManager.default.attributesOfItem(atPath: url(of: hash).path)
        return (values?[.size] as? NSNumber)?.int64Value == size
    }

    /// Deletes partial downloads that were abandoned.
    package func removePartials(olderThan time: Date) {
        for file in partials {
            let date = try? file.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
            if let date, date < time { try? FileManager.default.removeItem(at: file) }
        }
    }

    /// Deletes partial downloads, except the ones in progress.
    package func removePartials(but keys: Set<String>) {
        let kept = Set(keys.map { partial($0).lastPathComponent })
        for file in partials where file.lastPathComponent.count == Self.hashLength {
            // Copies in progress have names of another length.
            if !kept.contains(file.lastPathComponent) { try? FileManager.default.removeItem(at: file) }
        }
    }

    private static let hashLength = 64

    private var partials: [URL] {
        (try? FileManager.default.contentsOfDirectory(
            at: directory.appending(path: "partial"), includingPropertiesForKeys: [.contentModificationDateKey])) ?? []
    }

    package func removeAll() {
        try? FileManager.default.removeItem(at: directory)
    }

    /// Deletes a file, unless it is pinned.
    ///
    /// Call it in the transaction that found no row for the file. A later transaction then creates the file again.
    package func remove(_ hash: String) {
        pins.unlessPinned(hash) { try? FileManager.default.removeItem(at: url(of: hash)) }
    }

    /// Returns the hashes of all files older than a time; files that are being written are newer.
    package func hashes(olderThan time: Date) -> [String] {
        let manager = FileManager.default
        let keys: [URLResourceKey] = [.contentModificationDateKey]
        let folders = (try? manager.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)) ?? []
        return folders.filter { $0.lastPathComponent.count == 2 }.flatMap { folder in
            let files = (try? manager.contentsOfDirectory(at: folder, includingPropertiesForKeys: keys)) ?? []
            return files.compactMap { (file) -> String? in
                let date = try? file.resourceValues(forKeys: Set(keys)).contentModificationDate
                guard let date, date < time else { return nil }
                return folder.lastPathComponent + file.lastPathComponent
            }
        }
    }

    // MARK: Steps

    /// Runs `body` with a new temporary file, which is deleted afterwards unless `body` moves it.
    private func writing<Answer>(_ body: (URL, FileHandle) throws -> Answer) throws -> Answer {
        let folder = directory.appending(path: "partial")
        try PrivateFiles.createDirectory(folder)
        let file = folder.appending(path: UUID().uuidString)
        try PrivateFiles.createFile(file, errorCode: .localStorage)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        return try body(file, handle)
    }

    /// Reads a file to its end.
    ///
    /// `body` receives each chunk, and the number of bytes read including it.
    private static func read(
        _ file: FileHandle, _ body: (Data, Int64) throws -> Void
    ) throws -> (hash: String, size: Int64, prefix: Data) {
        var hash = SHA256()
        var size: Int64 = 0
        var prefix = Data()
        while let chunk = try file.read(upToCount: Self.chunkSize), !chunk.isEmpty {
            size += Int64(chunk.count)
            if prefix.isEmpty { prefix = Data(chunk.prefix(FileType.prefixLength)) }
            hash.update(data: chunk)
            try body(chunk, size)
        }
        return (hash.finalize().hexadecimal, size, prefix)
    }

    private func isStored(_ stored: Stored) -> Bool { isStored(stored.hash, size: stored.size) }

    private func keep(_ file: URL, as stored: Stored) throws {
        let place = url(of: stored.hash)
        try PrivateFiles.createDirectory(place.deletingLastPathComponent())
        if isStored(stored) { return try FileManager.default.removeItem(at: file) }
        if FileManager.default.fileExists(atPath: place.path) { try FileManager.default.removeItem(at: place) }
        try FileManager.default.moveItem(at: file, to: place)
    }

    private func storing<Answer>(_ body: () throws -> Answer) throws(ChatError) -> Answer {
        do {
            return try body()
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.localStorage, "A file can't be stored on this device.", cause: error)
        }
    }
}

/// The files that were written but have no row yet, which eviction skips.
private final class Pins: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func pin(_ hash: String) -> Pin {
        counts.withLock { $0[hash, default: 0] += 1 }
        return Pin(hash: hash, pins: self)
    }

    fileprivate func unpin(_ hash: String) {
        counts.withLock { counts in
            let count = (counts[hash] ?? 1) - 1
            counts[hash] = count == 0 ? nil : count
        }
    }

    /// Runs `body` if the file is not pinned.
    ///
    /// A concurrent `pin` waits, and then finds the file deleted.
    func unlessPinned(_ hash: String, _ body: () -> Void) {
        counts.withLock { counts in
            if counts[hash] == nil { body() }
        }
    }
}

/// Pins a file for the lifetime of the object.
private final class Pin: Sendable {
    private let hash: String
    private let pins: Pins

    init(hash: String, pins: Pins) {
        self.hash = hash
        self.pins = pins
    }

    deinit { pins.unpin(hash) }
}

extension ChatError {
    fileprivate static func unreadable(_ file: URL, _ cause: any Error) -> ChatError {
        ChatError(
            .invalidParameter, "The file \(file.lastPathComponent) can't be read.", parameter: "source", cause: cause)
    }

    package static func mediaTooLarge(limit: Int64) -> ChatError {
        ChatError(
            .mediaTooLarge, "The file must have at most \(limit) bytes.", parameter: "source", limit: Int(limit))
    }
}
