public import Foundation
public import ScrollbackModel
import ScrollbackSync
import Synchronization

/// The files of messages: fetched when they are asked for, kept on this device as far as there is room.
public struct MediaLibrary: Sendable {
    let core: ClientCore

    /// The file on this device, fetched if it is not there yet.
    ///
    /// What was fetched before a connection was lost is not fetched again, even after the app was ended. Who asks for a
    /// file that somebody is fetching already waits for that.
    ///
    /// - Returns: a file to read, not to change; it stays until room is needed for others (``MediaSettings/cacheSize``).
    /// - Throws: `unknown-media` when it is not there, or not for this user; `media-too-large` above
    ///   ``MediaSettings/largestDownload``; `unreachable`; `malformed`; `local-storage`; `cancelled` when the task that asks
    ///   is, and where nobody else waits for the file its download ends.
    public func file(for media: Media) async throws(ChatError) -> URL {
        switch media.source {
        case .hosted(let id): try await core.downloads.file(media.key, .media(id), size: media.size, core)
        case .remote(let url): try await core.downloads.file(media.key, .remote(url), size: media.size, core)
        }
    }

    /// The small picture that goes with a file, fetched if it is not there yet; nothing where it has none.
    ///
    /// - Throws: as ``file(for:)``.
    public func thumbnail(for media: Media) async throws(ChatError) -> URL? {
        guard media.thumbnail != nil, let id = media.id else { return nil }
        return try await core.downloads.file(media.thumbnailKey, .thumbnail(id), size: nil, core)
    }

    /// How much of a file is on this device, 0...1, from now until it is there whole or could not be fetched.
    ///
    /// It fetches nothing by itself.
    public func progress(of media: Media) -> AsyncStream<Double> {
        core.downloads.progress(of: media.key, size: media.size, core)
    }

    /// A link to a file of the server that is good for a while, for whatever can't send a token: a web view, a player.
    ///
    /// - Parameters:
    ///   - media: a file that lies on the chat server; of any other its own URL is returned.
    ///   - thumbnail: whether the small picture that goes with it is meant.
    ///   - seconds: how long it is good, 1...604,800; an hour by default.
    /// - Throws: `unknown-media`; `unreachable`; `invalid-parameter`.
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

    /// Removes every copy that is not waiting to be sent, and what was fetched in part.
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
