import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Re-encryption of existing objects after the keys change.
extension S3MediaStore: ReencryptableMediaStore {
    func reencryptBlobs(after: BlobID?, limit: Int) async throws(ChatError) -> BlobID? {
        let blobs = try await blobs(after: after, limit: limit)
        for blob in blobs { try await reencrypt(blob) }
        return blobs.count == limit ? blobs.last : nil
    }

    private func reencrypt(_ blob: BlobID) async throws(ChatError) {
        let (plain, encrypted) = (key(of: blob, isEncrypted: false), key(of: blob, isEncrypted: true))
        let target = keys?.newest?.id
        let current = try await keyID(of: encrypted)
        let isObsolete = try await target == nil ? current != nil : client.size(of: plain) != nil
        guard current != target || isObsolete else { return }
        if current != target || target == nil {
            // The blob may have been removed in the meantime.
            guard let object = try await object(of: blob) else { return }
            let file = try await makeLocalFile()
            do throws(ChatError) {
                try await copy(object, count: object.size, into: file)
                try await put(file, as: blob)
            } catch {
                await remove(file)
                throw error
            }
            await remove(file)
        }
        try await client.delete(target == nil ? encrypted : plain)
    }

    func hasUploadsWithOlderKey() async throws(ChatError) -> Bool {
        for upload in try await uploads() {
            for segment in try await segments(of: upload) {
                let key = key(of: segment, upload)
                if try await (segment.isEncrypted ? keyID(of: key) : nil) != keys?.newest?.id { return true }
            }
        }
        return false
    }

    /// Returns the key ID in an object's header, or `nil` if the object does not exist.
    private func keyID(of key: String) async throws(ChatError) -> StoreKey.ID? {
        guard let header = try await client.get(key, at: 0, count: EncryptedFile.headerSize)?.bytes else { return nil }
        guard let facts = EncryptedFile.headerFields(of: header) else {
            throw EncryptedFile.corruptFileError(key).withoutPaths
        }
        return facts.key
    }
}
