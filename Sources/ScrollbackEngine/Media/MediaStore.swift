package import Foundation
package import ScrollbackModel

/// Where the bytes of files lie, finished and not.
///
/// It knows bytes by their hash and uploads by their id, and nothing of whose they are: that is in the ``MessageStore``'s
/// rows. What a call returned from is on disk, where there is one. Calls wait where they may: no caller's thread is held.
package protocol MediaStore: AnyObject, Sendable {
    /// Opens an upload's bytes to go on at a place; those behind it are cut off. At 0 there need be none yet.
    ///
    /// - Throws: `unknown-upload` where it has fewer bytes.
    func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile
    /// Forgets an upload's bytes, if there are any.
    func remove(_ upload: UploadID) async throws(ChatError)
    /// Every upload that has bytes here.
    func uploads() async throws(ChatError) -> [UploadID]

    /// Keeps bytes under their name.
    func put(_ bytes: [UInt8], as blob: BlobID) async throws(ChatError)
    /// - Throws: `unknown-media` where it is not here.
    func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile
    /// Bytes of a blob, of which no more are wanted than these.
    ///
    /// - Throws: `unknown-media` where it is not here.
    func read(_ blob: BlobID, at offset: Int64, count: Int) async throws(ChatError) -> [UInt8]
    /// The blobs that are here, in order.
    func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID]
    /// Forgets a blob, if it is here; who has it open can read on.
    func remove(_ blob: BlobID) async throws(ChatError)
}

/// An upload's bytes, while one request writes them.
package protocol UploadFile: AnyObject, Sendable {
    func append(_ bytes: [UInt8]) async throws(ChatError)
    /// Waits until what was appended is on disk.
    func sync() async throws(ChatError)
    /// The hash of all bytes from the first.
    func hash() async throws(ChatError) -> BlobID
    /// Looks at all bytes, which need not be in memory.
    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer
    /// Keeps the bytes as a blob, on disk when this returns; the upload has them still.
    func keep(as blob: BlobID) async throws(ChatError)
    func close() async
}

/// A blob that is read; it is closed when nobody has it any more.
package protocol BlobFile: AnyObject, Sendable {
    var size: Int64 { get }
    /// Bytes from a place on: fewer than asked for at the end.
    func read(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8]
}
