package import Foundation
package import ScrollbackModel

/// Transfers files to and from the server: over HTTP, or in memory in tests.
///
/// Files are transferred in chunks, so that no file is in memory as a whole and a lost connection costs at most one
/// chunk.
package protocol MediaTransport: Sendable {
    /// Creates an upload.
    ///
    /// - Returns: The server's path or URL of the upload. `nil` if the server already has the file from an attempt
    ///   whose answer was lost.
    func begin(_ upload: LocalUpload, in conversation: ConversationID, token: String) async throws(ChatError) -> String?

    /// Returns how much of an upload the server has.
    ///
    /// - Throws: `unknown-upload` if the server has deleted it.
    func progress(of resource: String, token: String) async throws(ChatError) -> UploadProgress

    /// Appends a chunk at an offset.
    ///
    /// The last chunk completes the upload, even if it is empty.
    ///
    /// - Throws: `conflict` if the server's offset differs, or `unknown-upload`.
    func append(
        _ chunk: Data, to resource: String, at offset: Int64, isLast: Bool, token: String
    ) async throws(ChatError)

    /// Deletes an abandoned upload from the server.
    ///
    /// - Throws: `unknown-upload` if the server has already deleted it.
    func cancelUpload(_ resource: String, token: String) async throws(ChatError)

    /// Sets the thumbnail of a file.
    func setThumbnail(_ picture: Data, of media: MediaID, token: String) async throws(ChatError)

    /// Reads a chunk of a file, of at most `count` bytes.
    ///
    /// - Parameter hash: The validator of the previous chunk. If the file has changed since, the first chunk is
    ///   returned.
    func read(
        _ source: MediaChunk.Source, from offset: Int64, upTo count: Int, ifStill hash: String?, token: String?
    ) async throws(ChatError) -> MediaChunk

    /// Returns a temporary link to a file, for components that can't send a token.
    func link(
        to media: MediaID, thumbnail: Bool, expiresIn seconds: Int?, token: String
    ) async throws(ChatError) -> URL
}

/// The server's progress of an upload.
package struct UploadProgress: Hashable, Sendable {
    /// The number of bytes received.
    package var offset: Int64
    /// Whether the upload is complete, which receiving all bytes does not guarantee.
    package var isComplete: Bool

    package init(offset: Int64, isComplete: Bool) {
        self.offset = offset
        self.isComplete = isComplete
    }
}

/// A chunk of a file.
package struct MediaChunk: Sendable {
    package enum Source: Hashable, Sendable {
        case media(MediaID), thumbnail(MediaID), remote(URL)
    }

    package var bytes: Data
    package var offset: Int64
    /// The size of the whole file; `nil` if the server does not report it.
    package var size: Int64?
    /// The validator of the whole file; for files on the chat server, their SHA-256 hash.
    package var hash: String?
    /// Whether this is the last chunk.
    package var isLast: Bool

    package init(bytes: Data, offset: Int64, size: Int64?, hash: String?, isLast: Bool) {
        self.bytes = bytes
        self.offset = offset
        self.size = size
        self.hash = hash
        self.isLast = isLast
    }
}
