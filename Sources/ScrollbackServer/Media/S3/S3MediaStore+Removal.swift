import Foundation
import ScrollbackEngine
import ScrollbackModel

/// Removal of blobs.
///
/// In a shared bucket, a server can remove a blob that another server has just found and is about to store a row for.
/// So the bytes of a removed blob first move to an object of their own, from which they can be read and restored
/// (decision 68).
extension S3MediaStore {
    private var removed: String { "\(client.location.prefix)removed/" }

    func remove(_ blob: BlobID) async throws(ChatError) {
        for isEncrypted in keys == nil ? [false] : [true, false] {
            let key = key(of: blob, isEncrypted: isEncrypted)
            if isShared {
                // A name that is never used again can be deleted at any time later.
                let copy = "\(removed)\(key.dropFirst(blobs.count))/\(UUID().uuidString.lowercased())"
                guard try await client.copy(key, to: copy) else { continue }
            }
            try await client.delete(key)
        }
    }

    /// Returns an object of a blob that was removed and not yet purged, or `nil` if there is none.
    func removedObject(of blob: BlobID) async throws(ChatError) -> S3Object? {
        let found = try await client.list(removed + blob.description, limit: 1).keys.first
        guard let key = found else { return nil }
        let isEncrypted = key.dropFirst(removed.count + blob.description.count).hasPrefix(Self.encryptedSuffix)
        return try await object(key, named: blob.description, isEncrypted: isEncrypted)
    }

    func purge(_ isUsed: @Sendable (BlobID) throws -> Bool) async throws {
        var firstError: (any Error)?
        for object in try await client.listAll(removed).objects where !Task.isCancelled {
            do {
                try await purge(object, isUsed)
            } catch {
                // One object must not keep the others from being deleted.
                firstError = firstError ?? error
            }
        }
        if let firstError { throw firstError }
    }

    private func purge(_ object: S3Client.ListedObject, _ isUsed: (BlobID) throws -> Bool) async throws {
        let name = object.key.dropFirst(removed.count).prefix { $0 != "/" }
        guard let blob = blob(named: name) else { return }
        // Names are never used again, so the object is at least as old as the list says.
        guard let age = object.age else {
            throw S3Failure(operation: .list, status: 200, code: "without the time of an object").chatError
        }
        guard age >= removalDelay else { return }
        if try isUsed(blob) { guard try await client.copy(object.key, to: blobs + name) else { return } }
        try await client.delete(object.key)
    }
}
