package import ScrollbackEngine
import ScrollbackModel

/// Copies blobs from one store of files to another one.
package struct FileCopy {
    package struct Summary: Sendable {
        package var files = 0
        package var bytes: Int64 = 0
        /// The blobs that the first store does not have either.
        package var missing: [BlobID] = []
    }

    private let source: any MediaStore
    private let target: any MediaStore
    private static let chunkLength = 1 << 20

    init(of source: any MediaStore, to target: any MediaStore) {
        self.source = source
        self.target = target
    }

    /// Copies blobs, except those that the other store has.
    ///
    /// - Parameters:
    ///   - blobs: The IDs of all blobs, ordered.
    ///   - progress: Called with the number of blobs, and their total.
    /// - Throws: `invalid-parameter` if the other store has blobs, but none of these; `internal-error` if the bytes of
    ///   a blob differ from its ID.
    func run(_ blobs: [BlobID], progress: (Int64, Int64) -> Void) async throws -> Summary {
        let existing = try await existingBlobs()
        guard existing.isEmpty || blobs.contains(where: existing.contains) else {
            throw ChatError.invalidParameter(
                "files", "names a part of a bucket with files of another server. Use another bucket, or another prefix="
            )
        }
        var summary = Summary()
        for (number, blob) in blobs.enumerated() {
            progress(Int64(number), Int64(blobs.count))
            guard let file = try await open(blob) else {
                summary.missing.append(blob)
                continue
            }
            if !existing.contains(blob) { try await copy(file, as: blob) }
            summary.files += 1
            summary.bytes += file.size
        }
        progress(Int64(blobs.count), Int64(blobs.count))
        return summary
    }

    private func existingBlobs() async throws -> Set<BlobID> {
        var all: Set<BlobID> = []
        var last: BlobID?
        repeat {
            let page = try await target.blobs(after: last, limit: 1_000)
            all.formUnion(page)
            last = page.last
        } while last != nil
        return all
    }

    /// Returns `nil` if the blob does not exist.
    private func open(_ blob: BlobID) async throws -> (any BlobFile)? {
        do {
            return try await source.open(blob)
        } catch let error where error.code == .unknownMedia {
            return nil
        }
    }

    private func copy(_ file: any BlobFile, as blob: BlobID) async throws {
        let id = UploadID()
        let upload = try await target.open(id, at: 0)
        do {
            var offset: Int64 = 0
            while offset < file.size {
                let bytes = try await file.read(at: offset, count: Self.chunkLength)
                guard !bytes.isEmpty else { break }
                try await upload.append(bytes)
                offset += Int64(bytes.count)
            }
            guard try await upload.hash() == blob else {
                throw ChatError(.internalError, "The file \(blob) is damaged. Restore it from a backup.")
            }
            try await upload.persist(as: blob)
        } catch {
            await upload.close()
            try? await target.remove(id)
            throw error
        }
        await upload.close()
        try await target.remove(id)
    }
}
