import Crypto
package import Foundation
package import ScrollbackModel

/// The files of one store: each lies once, under the SHA-256 of its content, however often it is sent or fetched.
///
/// What they are for is in the store's tables: a file that no row knows is left from a crash, and goes.
package struct LocalFiles: Sendable {
    /// `files` in the store's folder.
    package let directory: URL
    private static let piece = 1 << 20

    package init(directory: URL) {
        self.directory = directory
    }

    /// A file as it was written.
    package struct Stored: Hashable, Sendable {
        /// 64 hexadecimal digits.
        package var hash: String
        package var size: Int64
        /// Its first bytes, for telling what it is.
        package var prefix: Data

        package var type: FileType { FileType(of: prefix) }
    }

    package func url(of hash: String) -> URL {
        directory.appending(path: String(hash.prefix(2))).appending(path: String(hash.dropFirst(2)))
    }

    /// Where a file grows while it is fetched.
    package func partial(_ key: String) -> URL {
        directory.appending(path: "partial").appending(path: Self.hash(of: Data(key.utf8)))
    }

    package static func hash(of data: Data) -> String { SHA256.hash(data: data).hexadecimal }

    // MARK: Writing

    package func store(_ data: Data) throws(ChatError) -> Stored {
        try storing { () throws in
            let hash = Self.hash(of: data)
            if !FileManager.default.fileExists(atPath: url(of: hash).path) {
                let new = try makeNew()
                try data.write(to: new)
                try keep(new, as: hash)
            }
            return Stored(hash: hash, size: Int64(data.count), prefix: data.prefix(FileType.prefixLength))
        }
    }

    /// Copies a file, a piece at a time.
    package func store(contentsOf file: URL, atMost limit: Int64) throws(ChatError) -> Stored {
        let source: FileHandle
        do {
            source = try FileHandle(forReadingFrom: file)
        } catch {
            throw ChatError(
                .invalidParameter, "the file \(file.lastPathComponent) can't be read", parameter: "source", cause: error
            )
        }
        defer { try? source.close() }
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path))?[.size] as? NSNumber
        guard size?.int64Value ?? 0 <= limit else { throw .mediaTooLarge(limit: limit) }
        return try storing { () throws in
            let new = try makeNew()
            var isKept = false
            defer { if !isKept { try? FileManager.default.removeItem(at: new) } }
            let copy = try FileHandle(forWritingTo: new)
            defer { try? copy.close() }
            var hash = SHA256()
            var stored = Stored(hash: "", size: 0, prefix: Data())
            while let piece = try source.read(upToCount: Self.piece), !piece.isEmpty {
                stored.size += Int64(piece.count)
                guard stored.size <= limit else { throw ChatError.mediaTooLarge(limit: limit) }
                if stored.prefix.isEmpty { stored.prefix = Data(piece.prefix(FileType.prefixLength)) }
                hash.update(data: piece)
                try copy.write(contentsOf: piece)
            }
            try copy.synchronize()
            stored.hash = hash.finalize().hexadecimal
            try keep(new, as: stored.hash)
            isKept = true
            return stored
        }
    }

    /// Takes a file that was fetched whole.
    ///
    /// - Throws: `malformed` when it is not what it should be.
    package func keep(partial key: String, expecting expected: String?) throws(ChatError) -> Stored {
        let file = partial(key)
        return try storing { () throws in
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            var hash = SHA256()
            var stored = Stored(hash: "", size: 0, prefix: Data())
            while let piece = try handle.read(upToCount: Self.piece), !piece.isEmpty {
                stored.size += Int64(piece.count)
                if stored.prefix.isEmpty { stored.prefix = Data(piece.prefix(FileType.prefixLength)) }
                hash.update(data: piece)
            }
            stored.hash = hash.finalize().hexadecimal
            if let expected, expected != stored.hash {
                try FileManager.default.removeItem(at: file)
                throw ChatError(.malformed, "what was fetched is not the file: its hash is another")
            }
            try keep(file, as: stored.hash)
            return stored
        }
    }

    /// Adds a piece to a file that is being fetched.
    package func append(_ piece: Data, toPartial key: String, at offset: Int64) throws(ChatError) {
        try storing { () throws in
            let file = partial(key)
            if !FileManager.default.fileExists(atPath: file.path) {
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
                    throw CocoaError(.fileWriteUnknown)
                }
            }
            let handle = try FileHandle(forWritingTo: file)
            defer { try? handle.close() }
            try handle.truncate(atOffset: UInt64(offset))
            try handle.write(contentsOf: piece)
        }
    }

    /// How much of a file was fetched before.
    package func sizeOfPartial(_ key: String) -> Int64 {
        let values = try? FileManager.default.attributesOfItem(atPath: partial(key).path)
        return (values?[.size] as? NSNumber)?.int64Value ?? 0
    }

    package func removePartial(_ key: String) {
        try? FileManager.default.removeItem(at: partial(key))
    }

    // MARK: Reading and removing

    /// A piece of a file.
    package func read(_ hash: String, from offset: Int64, upTo count: Int) throws(ChatError) -> Data {
        try storing { () throws in
            let handle = try FileHandle(forReadingFrom: url(of: hash))
            defer { try? handle.close() }
            try handle.seek(toOffset: UInt64(offset))
            return try handle.read(upToCount: count) ?? Data()
        }
    }

    /// Removes what was fetched in part and then never again.
    package func removePartials(olderThan time: Date) {
        let folder = directory.appending(path: "partial")
        let keys: [URLResourceKey] = [.contentModificationDateKey]
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: keys)) ?? []
        for file in files {
            let date = try? file.resourceValues(forKeys: Set(keys)).contentModificationDate
            if let date, date < time { try? FileManager.default.removeItem(at: file) }
        }
    }

    package func removeAll() {
        try? FileManager.default.removeItem(at: directory)
    }

    package func remove(_ hash: String) {
        try? FileManager.default.removeItem(at: url(of: hash))
    }

    /// Every file that has lain there since before a time; those being written now are newer.
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

    private func makeNew() throws -> URL {
        let folder = directory.appending(path: "partial")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: UUID().uuidString)
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        return file
    }

    private func keep(_ file: URL, as hash: String) throws {
        let place = url(of: hash)
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        if FileManager.default.fileExists(atPath: place.path) {
            return try FileManager.default.removeItem(at: file)
        }
        try FileManager.default.moveItem(at: file, to: place)
    }

    private func storing<Answer>(_ body: () throws -> Answer) throws(ChatError) -> Answer {
        do {
            return try body()
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.localStorage, "a file can't be kept on this device", cause: error)
        }
    }
}

extension Digest {
    fileprivate var hexadecimal: String {
        map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }.joined()
    }
}

extension ChatError {
    package static func mediaTooLarge(limit: Int64) -> ChatError {
        ChatError(
            .mediaTooLarge, "the file must be at most \(limit) bytes", parameter: "source", limit: Int(limit))
    }
}
