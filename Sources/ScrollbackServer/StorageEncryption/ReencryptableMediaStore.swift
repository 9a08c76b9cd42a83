import ScrollbackEngine
import ScrollbackModel

/// A media store whose files can be encrypted with another key.
protocol ReencryptableMediaStore: MediaStore {
    /// Re-encrypts the next blobs with the newest key, or decrypts them if encryption is off.
    ///
    /// - Returns: The last processed blob, or `nil` at the end.
    func reencryptBlobs(after: BlobID?, limit: Int) async throws(ChatError) -> BlobID?
    /// Whether an upload in progress uses an older key or form.
    func hasUploadsWithOlderKey() async throws(ChatError) -> Bool
}
