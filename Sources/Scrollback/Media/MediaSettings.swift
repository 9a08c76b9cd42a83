public import Foundation
public import ScrollbackModel

/// The settings for preparing images, the limits of files, and the size of the file cache.
public struct MediaSettings: Sendable {
    /// How images are prepared for sending.
    public var images = ImagePolicy()
    /// The maximum size of a GIF in bytes; the default of 2 MiB is the server's default limit.
    public var largestGIF: Int64 = 2 << 20
    /// The maximum size of other files in bytes; the default of 100 MiB is the server's default limit.
    public var largestFile: Int64 = 100 << 20
    /// The maximum size of the file cache in bytes; the least recently used files are evicted first.
    public var cacheSize: Int64 = 512 << 20
    /// The maximum size of a downloaded file in bytes, 1 GiB by default.
    ///
    /// Files on the web can have any size, whatever their message states, and the server's limits don't apply to them.
    public var largestDownload: Int64 = 1 << 30
    /// The app's own uploader; `nil` to upload files to the chat server.
    public var uploader: (any MediaUploader)?

    /// Creates settings with default values.
    public init() {}

    /// Returns the settings if they are valid.
    ///
    /// - Throws: `invalid-parameter` if a value is out of range.
    func validated() throws(ChatError) -> MediaSettings {
        for (name, side) in [
            ("longestSide", images.longestSide), ("thumbnailLongestSide", images.thumbnailLongestSide),
        ] where side < 1 {
            throw .invalidParameter("media.images.\(name)", "must be 1 or more pixels")
        }
        for (name, quality) in [
            ("quality", images.quality), ("thumbnailQuality", images.thumbnailQuality),
        ] where !(0...1).contains(quality) {
            throw .invalidParameter("media.images.\(name)", "must be in 0...1")
        }
        for (name, size) in [
            ("largestGIF", largestGIF), ("largestFile", largestFile), ("cacheSize", cacheSize),
            ("largestDownload", largestDownload),
        ] where size < 0 {
            throw .invalidParameter("media.\(name)", "must be 0 or more bytes")
        }
        return self
    }
}

/// How images are prepared for sending.
public struct ImagePolicy: Hashable, Sendable {
    /// The maximum length of an image's longest side in pixels; smaller images keep their size.
    public var longestSide = 1080
    /// The JPEG quality of images, 0...1.
    public var quality = 0.85
    /// The maximum length of a thumbnail's longest side in pixels.
    public var thumbnailLongestSide = 240
    /// The JPEG quality of thumbnails, 0...1.
    public var thumbnailQuality = 0.3

    /// Creates a policy with default values.
    public init() {}
}

/// Uploads files to a server of the app instead of the chat server.
public protocol MediaUploader: Sendable {
    /// Uploads a file, which stays in place until the method returns.
    ///
    /// The client may call the method again for the same file, after a restart of the app or a temporary error. If the
    /// message is cancelled or the client is closed, the calling task is cancelled and the result is ignored.
    ///
    /// - Parameters:
    ///   - file: The file to upload.
    ///   - progress: Call it with the uploaded fraction, 0...1.
    /// - Returns: The `http` or `https` URL at which all recipients can download the file.
    /// - Throws: An error if the upload failed. The client retries after a temporary `ChatError` such as `unreachable`.
    ///   Any other error fails the message.
    func upload(_ file: OutgoingFile, progress: @escaping @Sendable (Double) -> Void) async throws -> URL
}

/// A file to upload.
public struct OutgoingFile: Sendable {
    /// The location of the copy on this device.
    public let file: URL
    /// The type of the message that contains the file.
    public let type: MessageType
    /// The file name, if it has one.
    public let name: String?
    /// The media type, detected from the content.
    public let mediaType: String
    /// The size in bytes.
    public let size: Int64

    /// Creates a file, for tests of an app's own uploader.
    ///
    /// - Parameters:
    ///   - file: The location of the file.
    ///   - type: The type of the message that contains the file.
    ///   - name: The file name, if it has one.
    ///   - mediaType: The media type.
    ///   - size: The size in bytes.
    public init(file: URL, type: MessageType, name: String?, mediaType: String, size: Int64) {
        self.file = file
        self.type = type
        self.name = name
        self.mediaType = mediaType
        self.size = size
    }
}
