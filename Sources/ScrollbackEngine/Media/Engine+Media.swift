import Foundation
package import ScrollbackModel

extension Engine {
    /// Returns a file that the caller may read.
    ///
    /// - Throws: `unknown-media` if the file does not exist or the caller may not read it; both cases have the same
    ///   error.
    package func file(_ id: MediaID, by caller: Caller) throws -> MediaRow {
        try store.read { store in
            try readable(id, caller, in: store)
        }
    }

    private func readable(_ id: MediaID, _ caller: Caller, in store: any StoreReader) throws -> MediaRow {
        guard let row = try store.media(id),
            let readable = try ScrollbackEngine.readable(
                row, caller, in: store, permissions: permissions, generation: self.store.generation, now: clock())
        else { throw unknownMedia }
        return readable
    }

    /// Returns the file that an upload created.
    ///
    /// - Throws: `unknown-upload` if the file no longer exists.
    package func file(of upload: UploadRow) throws -> MediaRow {
        guard upload.state == .done, let row = try store.read({ try $0.media(upload.media) }) else {
            throw Self.unknownUpload
        }
        return row
    }

    /// Returns all bytes of a file, for a device in the same process.
    package func bytes(of id: MediaID, by caller: Caller) async throws(ChatError) -> [UInt8] {
        do {
            let row = try file(id, by: caller)
            return try await media.serving(WorkOwner(caller)).read(row.blob, at: 0, count: Int(row.size))
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// Adds a thumbnail to the caller's file, and replaces an existing one.
    ///
    /// - Throws: `unknown-media`, `forbidden` for another user's file, `media-too-large`, and `invalid-media` if the
    ///   bytes are not an image.
    package func putThumbnail(
        _ bytes: [UInt8], of id: MediaID, by caller: Caller
    ) async throws(ChatError) -> MediaRow.Thumbnail {
        let limit = settings.thumbnailBytes
        guard bytes.count <= limit else {
            throw ChatError(.mediaTooLarge, "A thumbnail can have at most \(limit) bytes.", limit: limit)
        }
        // The owner is checked before any other error, and before bytes are written.
        try checkOwner(of: id, caller)
        let properties = try mediaCounts.examining { (steps) throws(ChatError) in
            try MediaProperties(of: Data(bytes), for: .image, steps: steps)
        }
        guard let pixels = properties.pixels,
            ["image/jpeg", "image/png", "image/webp", "image/gif"].contains(properties.mediaType)
        else {
            throw ChatError(.invalidMedia, "A thumbnail must be a JPEG, PNG, WebP or GIF image.")
        }
        let blob = BlobID(of: bytes)
        let owner = WorkOwner(caller)
        let (thumbnail, old) = try await pinning(blob, for: owner) { () throws(ChatError) in
            try await media.serving(owner).put(bytes, as: blob)
            return try await submit(for: owner) { [self] transaction -> (MediaRow.Thumbnail, BlobID?) in
                try checkOwner(of: id, caller, in: transaction.store)
                guard var row = try transaction.store.media(id) else { throw unknownMedia }
                let growth = Growth(fileBytes: Int64(bytes.count))
                try transaction.checkGrowth(growth, by: caller)
                try transaction.recordGrowth(growth, by: caller)
                let old = row.thumbnail?.blob
                let thumbnail = MediaRow.Thumbnail(
                    blob: blob, size: Int64(bytes.count), mediaType: properties.mediaType, pixels: pixels,
                    addedAt: transaction.now)
                row.thumbnail = thumbnail
                try transaction.store.put(row)
                return (thumbnail, old == blob ? nil : old)
            }
        }
        if let old { try? await removeIfUnused(old, for: owner) }
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
        let row = try readable(id, caller, in: store)
        guard row.owner == caller.user else {
            throw ChatError(.forbidden, "Only the user who uploaded a file can add a thumbnail.")
        }
    }
}
