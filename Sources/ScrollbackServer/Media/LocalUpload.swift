import Foundation
import ScrollbackEngine
import ScrollbackModel

/// An upload in a local file, which is encrypted if the server has keys.
protocol LocalUpload: UploadFile {
    /// Reads up to `count` of the appended bytes at an offset.
    ///
    /// It can return fewer, but none only at the end.
    func read(at offset: Int64, count: Int) throws(ChatError) -> [UInt8]
    /// Completes the file with all appended bytes.
    ///
    /// - Parameter name: The name under which an encrypted file can be decrypted.
    /// - Returns: The file and its length in bytes.
    func complete(named name: String) throws(ChatError) -> (file: URL, length: Int64)
}

extension LocalUpload {
    /// The number of bytes that are hashed in one turn, so that other users' work runs between the turns.
    private static var hashedBytes: Int64 { 8 << 20 }

    /// Returns the hash of all appended bytes, which it reads again.
    func hashStoredBytes(on threads: FileThreads) async throws(ChatError) -> BlobID {
        var hasher = BlobHasher()
        var offset: Int64 = 0
        var isComplete = false
        while !isComplete {
            (hasher, offset, isComplete) = try await threads.blocking { [self, hasher, offset] () throws(ChatError) in
                try continueHash(hasher, at: offset)
            }
        }
        return hasher.finish()
    }

    private func continueHash(
        _ hasher: BlobHasher, at offset: Int64
    ) throws(ChatError) -> (hasher: BlobHasher, offset: Int64, isComplete: Bool) {
        var (hasher, place) = (hasher, offset)
        while place < offset + Self.hashedBytes {
            let bytes = try read(at: place, count: 256 << 10)
            guard !bytes.isEmpty else { return (hasher, place, true) }
            bytes.withUnsafeBytes { hasher.update($0) }
            place += Int64(bytes.count)
        }
        return (hasher, place, false)
    }
}

extension DiskUpload: LocalUpload {
    func read(at offset: Int64, count: Int) throws(ChatError) -> [UInt8] {
        try DurableFile.read(openDescriptor, at: offset, count: count)
    }

    func complete(named name: String) -> (file: URL, length: Int64) {
        (file, Int64(lseek(openDescriptor, 0, SEEK_END)))
    }
}
