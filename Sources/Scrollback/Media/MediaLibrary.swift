public import Foundation
public import ScrollbackModel
import ScrollbackSync
import Synchronization

/// The files of messages, which are downloaded on demand and cached on this device.
public struct MediaLibrary: Sendable {
    let core: ClientCore

    /// Returns the file, downloading it if it is not stored on this device.
    ///
    /// An interrupted download resumes where it ended, even after a restart of the app. Concurrent calls for the same
    /// file share one download.
    ///
    /// - Returns: The URL of a file to read but not to change. The file stays until the cache needs space
    ///   (``MediaSettings/cacheSize``).
    /// - Throws: `unknown-media` if the file does not exist or the user may not access it. `media-too-large` above
    ///   ``MediaSettings/largestDownload``. `unreachable`, `malformed` or `local-storage`. `cancelled` if the waiting
    ///   task is cancelled; without other waiting callers the download ends.
    public func file(for media: Media) async throws(ChatError) -> URL {
        switch media.source {
        case .hosted(let id): try await core.downloads.file(media.key, .media(id), size: media.size, core)
        case .remote(let url): try await core.downloads.file(media.key, .remote(url), size: media.size, core)
        }
    }

    /// Returns the thumbnail of a file, downloading it if necessary, or `nil` if the file has none.
    ///
    /// - Throws: The errors of ``file(for:)``.
    public func thumbnail(for media: Media) async throws(ChatError) -> URL? {
        guard media.thumbnail != nil, let id = media.id else { return nil }
        return try await core.downloads.file(media.thumbnailKey, .thumbnail(id), size: nil, core)
    }

    /// Returns the fraction of a file that is on this device, 0...1, until it is complete or the download fails.
    ///
    /// The method does not start a download.
    public func progress(of media: Media) -> AsyncStream<Double> {
        core.downloads.progress(of: media.key, size: media.size, core)
    }

    /// Returns a temporary link to a file, for components that can't send a token, such as a web view or a player.
    ///
    /// - Parameters:
    ///   - media: A file on the chat server; for any other file, its own URL is returned.
    ///   - thumbnail: Whether to link to the thumbnail.
    ///   - seconds: The lifetime of the link in seconds, 1...604,800; one hour by default.
    /// - Throws: `unknown-media`, `unreachable` or `invalid-parameter`.
    public func link(
        to media: Media, thumbnail: Bool = false, expiresIn seconds: Int? = nil
    ) async throws(ChatError) -> URL {
        switch media.source {
        case .remote(let url): return url
        case .hosted(let id):
            return try await core.withToken { (token) throws(ChatError) in
                try await core.media.link(to: id, thumbnail: thumbnail, expiresIn: seconds, token: token)
            }
        }
    }

    /// Deletes all stored files and partial downloads, except files that are queued for sending.
    ///
    /// - Throws: `local-storage`.
    public func removeAll() async throws(ChatError) {
        try await core.removeFiles()
    }
}

extension ChatClient {
    /// The files of messages.
    public var media: MediaLibrary { MediaLibrary(core: core) }
}
