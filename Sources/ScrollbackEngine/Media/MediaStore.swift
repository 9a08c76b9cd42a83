package import Foundation
package import ScrollbackModel

/// The storage of file bytes, both of complete files and of uploads.
///
/// It identifies blobs by their hash and uploads by their ID. Ownership is part of the ``MessageStore``'s rows. When a
/// method returns, its changes are durable, if the store is. Methods suspend instead of blocking the caller's thread.
package protocol MediaStore: AnyObject, Sendable {
    /// Returns this store for the work of an owner, so that owners share its threads fairly.
    ///
    /// Work of a store without an owner is the server's.
    func serving(_ owner: WorkOwner) -> any MediaStore

    /// Opens an upload to append at an offset; bytes after the offset are cut off.
    ///
    /// At offset 0, the upload need not exist yet.
    ///
    /// - Throws: `unknown-upload` if fewer bytes than `offset` are stored.
    func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile
    /// Deletes an upload's bytes, if there are any.
    func remove(_ upload: UploadID) async throws(ChatError)
    /// Returns all uploads with stored bytes.
    func uploads() async throws(ChatError) -> [UploadID]

    /// Stores a blob.
    func put(_ bytes: [UInt8], as blob: BlobID) async throws(ChatError)
    /// Opens a blob for reading.
    ///
    /// - Throws: `unknown-media` if the blob does not exist.
    func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile
    /// Reads bytes of a blob without keeping it open.
    ///
    /// - Throws: `unknown-media` if the blob does not exist.
    func read(_ blob: BlobID, at offset: Int64, count: Int) async throws(ChatError) -> [UInt8]
    /// Reads bytes of a blob on the calling thread, which may have to wait for a disk.
    ///
    /// - Returns: `nil` if the store has only asynchronous reads, for example because its blobs are on other machines.
    /// - Throws: The errors of ``read(_:at:count:)``.
    func readNow(_ blob: BlobID, at offset: Int64, count: Int) throws(ChatError) -> [UInt8]?
    /// Returns the stored blobs, ordered by ID.
    func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID]
    /// Deletes a blob, if it exists; reads of open blobs may continue, or fail with `unknown-media`.
    ///
    /// If other servers use the storage, its bytes can be read until ``purge(_:)`` deletes them.
    func remove(_ blob: BlobID) async throws(ChatError)
    /// Deletes the bytes of blobs that were removed long ago, and restores those that are used.
    ///
    /// - Parameter isUsed: Returns whether a row refers to a blob.
    func purge(_ isUsed: @Sendable (BlobID) throws -> Bool) async throws
}

extension MediaStore {
    /// Returns `nil`: the store has only asynchronous reads.
    package func readNow(_ blob: BlobID, at offset: Int64, count: Int) throws(ChatError) -> [UInt8]? { nil }

    /// Does nothing, because removing a blob deletes its bytes.
    package func purge(_ isUsed: @Sendable (BlobID) throws -> Bool) async throws {}
}

/// The bytes of an upload while a request writes them.
package protocol UploadFile: AnyObject, Sendable {
    func append(_ bytes: [UInt8]) async throws(ChatError)
    /// Waits until all appended bytes are durable.
    func sync() async throws(ChatError)
    /// Returns the hash of all bytes from the beginning.
    func hash() async throws(ChatError) -> BlobID
    /// Calls a closure with all bytes, which need not be loaded into memory.
    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer
    /// Stores the bytes as a blob, durable when this method returns; the upload keeps its bytes.
    func persist(as blob: BlobID) async throws(ChatError)
    func close() async
}

/// A blob that is open for reading, and closed when it is deallocated.
package protocol BlobFile: AnyObject, Sendable {
    var size: Int64 { get }
    /// Reads bytes at an offset; at the end of the blob, returns fewer than requested.
    func read(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8]
}
