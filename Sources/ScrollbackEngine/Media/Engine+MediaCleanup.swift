import Foundation
import ScrollbackModel
import Synchronization

/// Periodic removal of abandoned uploads, files without references, and files past their retention time.
///
/// Rows are deleted before bytes. After a crash in between, bytes without a row remain. They are searched for once
/// after a start and once a day.
extension Engine {
    private static let hour: TimeInterval = 60 * 60
    private static let day = 24 * hour
    /// The number of rows that one transaction removes.
    private static let mediaBatch = 100

    /// Removes abandoned uploads and unneeded files.
    ///
    /// - Returns: The number of removed files.
    @discardableResult
    package func cleanUpMedia() async throws -> Int {
        try await removeAbandonedUploads()
        let now = clock()
        var removed = try await removeFiles(before: now.addingTimeInterval(-Self.day)) { store, time, limit in
            try store.media(unusedBefore: time, limit: limit)
        }
        if case .days(let days) = settings.mediaRetention {
            removed += try await removeFiles(before: now.addingTimeInterval(-Double(days) * Self.day)) {
                store, time, limit in
                try store.media(createdBefore: time, limit: limit)
            }
        }
        if nextOrphanScan.withLock({ $0 }) <= now {
            // After an error, the search is repeated sooner.
            nextOrphanScan.withLock { $0 = now.addingTimeInterval(Self.hour) }
            try await removeOrphans()
            try await media.purge { [store] blob in try store.read { try $0.isUsed(blob) } }
            nextOrphanScan.withLock { $0 = now.addingTimeInterval(Self.day) }
        }
        return removed
    }

    private func removeAbandonedUploads() async throws {
        let time = clock().addingTimeInterval(-Self.uploadLifetime)
        while !Task.isCancelled {
            let found = try store.read { try $0.uploads(touchedBefore: time, limit: Self.mediaBatch) }
            let due = found.map(\.id).filter { !transfers.isHeld($0) }
            guard !due.isEmpty else { return }
            try await submit { transaction in
                // Uploads that received data since then stay.
                for id in due where try transaction.store.upload(id).map({ $0.touchedAt < time }) ?? false {
                    try transaction.store.remove(id)
                }
            }
            // Bytes that can't be removed now are found by the next search for bytes without a row.
            for id in due where try store.read({ try $0.upload(id) }) == nil { try? await media.remove(id) }
        }
    }

    private func removeFiles(
        before time: Date,
        _ find: @escaping @Sendable (any StoreReader, Date, Int) throws -> [MediaRow]
    ) async throws -> Int {
        var removed = 0
        while !Task.isCancelled {
            let due = try await submit { transaction in
                let due = try find(transaction.store, time, Self.mediaBatch)
                for row in due { try transaction.store.remove(row.id) }
                return due
            }
            guard !due.isEmpty else { break }
            removed += due.count
            for blob in Set(due.flatMap { [$0.blob, $0.thumbnail?.blob].compactMap(\.self) }) {
                try? await removeIfUnused(blob)
            }
        }
        return removed
    }

    /// Protects a blob from removal until its row is stored; if `body` throws, the blob is removed unless it is used.
    func pinning<Answer>(
        _ blob: BlobID, for owner: WorkOwner, _ body: () async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        await blobPins.pin(blob)
        do throws(ChatError) {
            let answer = try await body()
            blobPins.unpin(blob)
            return answer
        } catch {
            blobPins.unpin(blob)
            try? await removeIfUnused(blob, for: owner)
            throw error
        }
    }

    /// Removes a blob that no row refers to.
    ///
    /// Another node can be about to store a row. So with several nodes, the store of files keeps the bytes for a while
    /// (decision 68).
    func removeIfUnused(_ blob: BlobID, for owner: WorkOwner = .server) async throws(ChatError) {
        guard blobPins.beginRemoval(of: blob) else { return }
        defer { blobPins.endRemoval(of: blob) }
        do {
            guard try !store.read({ try $0.isUsed(blob) }) else { return }
        } catch {
            throw ChatError(wrapping: error)
        }
        try await media.serving(owner).remove(blob)
    }

    /// Removes all blobs and upload files without a row.
    ///
    /// - Returns: The number of blobs and upload files that remain.
    @discardableResult
    package func removeOrphans() async throws -> Int {
        var count = 0
        for id in try await media.uploads() {
            if transfers.isHeld(id) {
                count += 1
                continue
            }
            // A row is stored before its bytes, so bytes without a row never get one. Uploads of other nodes that can't
            // be resumed have none either, and read no stored bytes.
            let row = try store.read { try $0.upload(id) }
            if row?.state == .open { count += 1 } else { try? await media.remove(id) }
        }
        var after: BlobID?
        while case let blobs = try await media.blobs(after: after, limit: 500), let last = blobs.last {
            after = last
            for blob in blobs {
                if try store.read({ try $0.isUsed(blob) }) { count += 1 } else { try? await removeIfUnused(blob) }
            }
        }
        return count
    }
}
