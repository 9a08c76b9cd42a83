import Foundation
import NIOCore
import ScrollbackEngine
import ScrollbackModel

/// A part of a local file, as a sequence of buffers that are read when they are needed.
struct FilePart: AsyncSequence, Sendable {
    /// The number of bytes that are read at a time.
    private static let step = 256 << 10

    let file: URL
    let offset: Int64
    let count: Int64
    let threads: FileThreads

    /// Returns the SHA-256 of the part in hexadecimal digits.
    func hash() async throws(ChatError) -> String {
        try await threads.blocking { () throws(ChatError) in
            var hasher = BlobHasher()
            var place: Int64 = 0
            while place < count {
                let bytes = try read(at: place)
                bytes.withUnsafeBytes { hasher.update($0) }
                place += Int64(bytes.count)
            }
            return hasher.finish().description
        }
    }

    /// Reads the next bytes at an offset within the part.
    private func read(at place: Int64) throws(ChatError) -> [UInt8] {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DurableFile.failure("Can't open \(file.path)") }
        defer { close(descriptor) }
        let bytes = try DurableFile.read(
            descriptor, at: offset + place, count: Int(Swift.min(Int64(Self.step), count - place)))
        guard !bytes.isEmpty else { throw ChatError(.internalError, "\(file.path) was truncated while it was read.") }
        return bytes
    }

    func makeAsyncIterator() -> Iterator { Iterator(part: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let part: FilePart
        private var place: Int64 = 0

        fileprivate init(part: FilePart) {
            self.part = part
        }

        mutating func next() async throws -> ByteBuffer? {
            guard place < part.count else { return nil }
            let (part, place) = (part, place)
            let bytes = try await part.threads.blocking { () throws(ChatError) in try part.read(at: place) }
            self.place += Int64(bytes.count)
            return ByteBuffer(bytes: bytes)
        }
    }
}
