package import Foundation
package import ScrollbackModel

/// The ways of files to the server and back: over HTTP, or in memory in tests of apps.
///
/// Files go in pieces, so that none is in memory whole and a lost connection costs no more than a piece.
package protocol MediaTransport: Sendable {
    /// Begins an upload.
    ///
    /// - Returns: what the server calls the upload; nothing where it has the file already, from an earlier attempt whose
    ///   answer was lost.
    func begin(_ upload: LocalUpload, in conversation: ConversationID, token: String) async throws(ChatError) -> String?

    /// How much of an upload the server has.
    ///
    /// - Throws: `unknown-upload` when it has given it up.
    func progress(of resource: String, token: String) async throws(ChatError) -> UploadProgress

    /// Hands over the piece that begins at an offset; the one that ends the file completes the upload, be it empty.
    ///
    /// - Throws: `conflict` when the server has more or less than that; `unknown-upload`.
    func append(
        _ piece: Data, to resource: String, at offset: Int64, isLast: Bool, token: String
    ) async throws(ChatError)

    /// Has the server forget an upload that nobody goes on with.
    ///
    /// - Throws: `unknown-upload` when it has.
    func giveUp(_ resource: String, token: String) async throws(ChatError)

    /// Gives a file its small picture.
    func setThumbnail(_ picture: Data, of media: MediaID, token: String) async throws(ChatError)

    /// Reads a piece of a file, at most so many bytes.
    ///
    /// - Parameter hash: what the file's hash was at the last piece; where it is another now, the piece is the first.
    func read(
        _ source: MediaPiece.Source, from offset: Int64, upTo count: Int, ifStill hash: String?, token: String?
    ) async throws(ChatError) -> MediaPiece

    /// A link to a file that is good for a while, for whatever can't send a token.
    func link(
        to media: MediaID, thumbnail: Bool, expiresIn seconds: Int?, token: String
    ) async throws(ChatError) -> URL
}

/// What a server has of an upload.
package struct UploadProgress: Hashable, Sendable {
    /// How many bytes, from the first.
    package var offset: Int64
    /// Whether it made a file of them: that it has every byte is not enough.
    package var isComplete: Bool

    package init(offset: Int64, isComplete: Bool) {
        self.offset = offset
        self.isComplete = isComplete
    }
}

/// A piece of a file.
package struct MediaPiece: Sendable {
    package enum Source: Hashable, Sendable {
        case media(MediaID), thumbnail(MediaID), remote(URL)
    }

    package var bytes: Data
    package var offset: Int64
    /// Of the whole file; nothing where the server does not say.
    package var size: Int64?
    /// The validator of the whole file; of a file of the chat server its SHA-256.
    package var hash: String?
    /// Whether nothing comes after it.
    package var isLast: Bool

    package init(bytes: Data, offset: Int64, size: Int64?, hash: String?, isLast: Bool) {
        self.bytes = bytes
        self.offset = offset
        self.size = size
        self.hash = hash
        self.isLast = isLast
    }
}
