import Foundation
package import ScrollbackModel

extension Engine {
    /// A file that the caller may read.
    ///
    /// - Throws: `unknown-media` where there is none, or they may not: the two do not differ.
    package func file(_ id: MediaID, by caller: Caller) throws -> MediaRow {
        try store.read { store in
            guard let row = try store.media(id),
                try mayRead(
                    row, caller, in: store, permissions: permissions, generation: self.store.generation, now: clock())
            else { throw unknownMedia }
            return row
        }
    }

    /// The file that an upload of the caller's became.
    ///
    /// - Throws: `unknown-upload` where it is gone.
    package func file(of upload: UploadRow) throws -> MediaRow {
        guard upload.state == .done, let row = try store.read({ try $0.media(upload.media) }) else {
            throw Self.unknownUpload
        }
        return row
    }

    /// All bytes of a file, for a device in the same process.
    package func bytes(of id: MediaID, by caller: Caller) async throws(ChatError) -> [UInt8] {
        do {
            let row = try file(id, by: caller)
            return try await media.read(row.blob, at: 0, count: Int(row.size))
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// Puts a thumbnail beside a file of the caller's, in the place of the one it had.
    ///
    /// - Throws: `unknown-media`; `forbidden` for another's file; `media-too-large`; `invalid-media` for what is no picture.
    package func putThumbnail(
        _ bytes: [UInt8], of id: MediaID, by caller: Caller
    ) async throws(ChatError) -> MediaRow.Thumbnail {
        let limit = settings.thumbnailBytes
        guard bytes.count <= limit else {
            throw ChatError(.mediaTooLarge, "a thumbnail may have at most \(limit) bytes", limit: limit)
        }
        // Before anything else is said, or written: whether it is theirs.
        try checkOwner(of: id, caller)
        let facts = try MediaFacts(of: Data(bytes), for: .image)
        guard let pixels = facts.pixels,
            ["image/jpeg", "image/png", "image/webp", "image/gif"].contains(facts.mediaType)
        else {
            throw ChatError(.invalidMedia, "a thumbnail must be a JPEG, PNG, WebP or GIF picture")
        }
        let blob = BlobID(of: bytes)
        let thumbnail = MediaRow.Thumbnail(
            blob: blob, size: Int64(bytes.count), mediaType: facts.mediaType, pixels: pixels)
        let old = try await pinning(blob) { () throws(ChatError) in
            try await media.put(bytes, as: blob)
            return try await submit { [self] transaction -> BlobID? in
                try checkOwner(of: id, caller, in: transaction.store)
                guard var row = try transaction.store.media(id) else { throw unknownMedia }
                let old = row.thumbnail?.blob
                row.thumbnail = thumbnail
                try transaction.store.put(row)
                return old == blob ? nil : old
            }
        }
        if let old { try? await removeIfUnused(old) }
        return thumbnail
    }

    private func checkOwner(of id: MediaID, _ caller: Caller) throws(ChatError) {
        do {
            try store.read { try checkOwner(of: id, caller, in: $0) }
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    private func checkOwner(of id: MediaID, _ caller: Caller, in store: any StoreReader) throws {
        guard let row = try store.media(id),
            try mayRead(
                row, caller, in: store, permissions: permissions, generation: self.store.generation, now: clock())
        else { throw unknownMedia }
        guard row.owner == caller.user else {
            throw ChatError(.forbidden, "only who uploaded a file gives it a thumbnail")
        }
    }
}
