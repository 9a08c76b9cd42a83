public import Foundation
public import ScrollbackModel

/// A file attachment to send with a message, passed to the `send` method of ``Conversation``.
///
/// The file is copied before that method returns, so later changes of the original have no effect. A file that is
/// already on a web server is sent as a link, without an upload, a size limit or a thumbnail.
public struct MediaAttachment: Sendable {
    /// The source of a file.
    public enum Source: Sendable {
        /// A file on this device.
        case file(URL)
        /// Data in memory, with an optional file name.
        case data(Data, name: String? = nil)
        /// A file on the web, with its size in bytes if it is known.
        case remote(URL, size: Int64? = nil)
    }

    enum Kind: Sendable {
        case image(original: Bool, keepsLocation: Bool)
        case gif, file
        case voice(duration: TimeInterval, waveform: [Int]?)
        case video(duration: TimeInterval?, pixels: Media.Size?, poster: Data?)
        case custom(MessageContent, MessageTraits)
    }

    var kind: Kind
    /// The source; several for custom content.
    var sources: [Source]

    /// An image: JPEG, PNG or WebP, and on Apple platforms HEIC or AVIF.
    ///
    /// Send other formats as ``file(_:)``.
    ///
    /// By default the image is sent upright as a JPEG with a quality of 0.85 and at most 1080 pixels on its longest
    /// side. Its thumbnail has a quality of 0.3 and at most 240 pixels. ``ImagePolicy`` changes these values. An
    /// animated WebP or PNG is sent unchanged.
    ///
    /// - Parameters:
    ///   - source: The source of the image.
    ///   - original: Whether to send the original file.
    ///   - keepsLocation: Whether an original keeps its metadata about location, time and camera.
    public static func image(
        _ source: Source, original: Bool = false, keepsLocation: Bool = false
    ) -> MediaAttachment {
        MediaAttachment(kind: .image(original: original, keepsLocation: keepsLocation), sources: [source])
    }

    /// An animated GIF, sent unchanged, of at most 2 MiB.
    public static func gif(_ source: Source) -> MediaAttachment {
        MediaAttachment(kind: .gif, sources: [source])
    }

    /// A file of any type, sent unchanged with all of its metadata, of at most 100 MiB.
    public static func file(_ source: Source) -> MediaAttachment {
        MediaAttachment(kind: .file, sources: [source])
    }

    /// A voice message.
    ///
    /// - Parameters:
    ///   - source: An audio file.
    ///   - duration: The duration in seconds.
    ///   - waveform: The loudness over the duration, for display: 1 to 200 values from 0 to 100, evenly spaced.
    public static func voice(
        _ source: Source, duration: TimeInterval, waveform: [Int]? = nil
    ) -> MediaAttachment {
        MediaAttachment(kind: .voice(duration: duration, waveform: waveform), sources: [source])
    }

    /// A video.
    ///
    /// The file is sent unchanged, including metadata such as the location. To remove it, export the video first, on
    /// Apple platforms with `AVMetadataItemFilter.forSharing()`.
    ///
    /// - Parameters:
    ///   - source: The video file.
    ///   - duration: The duration in seconds; on Apple platforms read from the file by default.
    ///   - pixels: The display size; on Apple platforms read from the file by default.
    ///   - poster: An image for the thumbnail, which is scaled down; on Apple platforms the first frame by default.
    public static func video(
        _ source: Source, duration: TimeInterval? = nil, pixels: Media.Size? = nil, poster: Data? = nil
    ) -> MediaAttachment {
        MediaAttachment(kind: .video(duration: duration, pixels: pixels, poster: poster), sources: [source])
    }

    /// Custom content with files.
    ///
    /// The content gets a member `files` with the list of file IDs in the given order (``MessageContent/files``).
    ///
    /// - Throws: `invalid-parameter` if the content is invalid (``MessageContent/custom(_:)``).
    public static func custom<Content: CustomContent>(
        _ content: Content, files: [Source]
    ) throws(ChatError) -> MediaAttachment {
        MediaAttachment(kind: .custom(try .custom(content), Content.traits), sources: files)
    }
}
