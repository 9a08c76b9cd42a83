public import Foundation
public import ScrollbackModel

/// A message that brings a file, given to ``Conversation/send(_:mentioning:replyingTo:metadata:extra:customType:push:traits:)-(MediaAttachment,_,_,_,_,_,_,_)``.
///
/// The file is copied before that returns: what becomes of the original afterwards makes no difference. A file that lies
/// on a server already is sent as it is, without an upload, a limit or a thumbnail.
public struct MediaAttachment: Sendable {
    /// Where a file comes from.
    public enum Source: Sendable {
        /// A file of this device.
        case file(URL)
        /// Bytes, and perhaps what the file is called.
        case data(Data, name: String? = nil)
        /// A file that lies somewhere on the web, and how large it is, where that is known (rows 107, 111).
        case remote(URL, size: Int64? = nil)
    }

    enum Kind: Sendable {
        case image(original: Bool, keepsLocation: Bool)
        case gif, file
        case voice(duration: TimeInterval)
        case video(duration: TimeInterval?, pixels: Media.Size?, poster: Data?)
        case custom(MessageContent, MessageTraits)
    }

    var kind: Kind
    /// One, or those of an application's own content.
    var sources: [Source]

    /// A picture: JPEG, PNG or WebP, and on Apple platforms HEIC or AVIF; any other is sent as ``file(_:)``.
    ///
    /// It is sent upright, at most 1080 pixels long, as JPEG of 85 %, with a thumbnail of at most 240 pixels and 30 %
    /// (rows 99, 100; ``ImagePolicy`` changes that). A moving WebP or PNG is sent as it is.
    ///
    /// - Parameters:
    ///   - source: where it comes from.
    ///   - original: whether the file itself is sent (row 98).
    ///   - keepsLocation: whether an original keeps what it says of where, when and by what it was taken.
    public static func image(
        _ source: Source, original: Bool = false, keepsLocation: Bool = false
    ) -> MediaAttachment {
        MediaAttachment(kind: .image(original: original, keepsLocation: keepsLocation), sources: [source])
    }

    /// A moving picture, sent as it is, of at most 2 MiB (rows 101, 106).
    public static func gif(_ source: Source) -> MediaAttachment {
        MediaAttachment(kind: .gif, sources: [source])
    }

    /// A file of any kind, sent as it is with all that it says of itself, of at most 100 MiB (row 106).
    public static func file(_ source: Source) -> MediaAttachment {
        MediaAttachment(kind: .file, sources: [source])
    }

    /// A voice message.
    ///
    /// - Parameters:
    ///   - source: a file of sound.
    ///   - duration: how long it takes, in seconds.
    public static func voice(_ source: Source, duration: TimeInterval) -> MediaAttachment {
        MediaAttachment(kind: .voice(duration: duration), sources: [source])
    }

    /// A video.
    ///
    /// The film is sent as it is. What its camera wrote into it, where it was taken among it, goes along: export it without
    /// where it must not, with `AVMetadataItemFilter.forSharing()` on Apple platforms.
    ///
    /// - Parameters:
    ///   - source: the film's file.
    ///   - duration: in seconds; read from the file on Apple platforms where it is not given.
    ///   - pixels: its size as it is to be shown; read from the file on Apple platforms where it is not given.
    ///   - poster: a picture of it, which is made smaller; taken from the film on Apple platforms where it is not given.
    public static func video(
        _ source: Source, duration: TimeInterval? = nil, pixels: Media.Size? = nil, poster: Data? = nil
    ) -> MediaAttachment {
        MediaAttachment(kind: .video(duration: duration, pixels: pixels, poster: poster), sources: [source])
    }

    /// An application's own content with files: the content gets a member `files`, a list of their ids in the order
    /// given (``MessageContent/files``).
    ///
    /// - Throws: `invalid-parameter` when the content can't be sent (``MessageContent/custom(_:)``).
    public static func custom<Content: CustomContent>(
        _ content: Content, files: [Source]
    ) throws(ChatError) -> MediaAttachment {
        MediaAttachment(kind: .custom(try .custom(content), Content.traits), sources: files)
    }
}
