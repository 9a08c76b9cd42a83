public import Foundation
public import ScrollbackModel

/// How a client makes pictures, what it sends, and how much it keeps of what it fetched.
public struct MediaSettings: Sendable {
    /// What becomes of pictures before they are sent.
    public var images = ImagePolicy()
    /// How large a GIF may be, in bytes: 2 MiB, the limit of a server that was not told otherwise (row 106).
    public var largestGIF: Int64 = 2 << 20
    /// How large any other file may be, in bytes: 100 MiB, the limit of a server that was not told otherwise (row 106).
    public var largestFile: Int64 = 100 << 20
    /// How much of what was fetched or sent is kept on this device, in bytes; what was used last stays.
    public var cacheSize: Int64 = 512 << 20
    /// How large a file may be that is fetched, in bytes: 1 GiB.
    ///
    /// What lies on the web is of any size, whatever a message says of it, and the limits of the server are not about it.
    public var largestDownload: Int64 = 1 << 30
    /// The app's own way to bring files to a server of its own; nothing where they go to the chat server (row 110).
    public var uploader: (any MediaUploader)?

    /// The settings as they are unless they are changed.
    public init() {}

    /// - Throws: `invalid-parameter` when one is out of range.
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

/// What becomes of pictures before they are sent (rows 99, 100, 102).
public struct ImagePolicy: Hashable, Sendable {
    /// Of a picture, in pixels; smaller ones keep their size.
    public var longestSide = 1080
    /// Of a picture's JPEG, 0...1.
    public var quality = 0.85
    /// Of a thumbnail, in pixels.
    public var thumbnailLongestSide = 240
    /// Of a thumbnail's JPEG, 0...1.
    public var thumbnailQuality = 0.3

    /// The policy as it is unless it is changed.
    public init() {}
}

/// The app's own way to bring files to a server of its own (rows 110 to 112).
public protocol MediaUploader: Sendable {
    /// Uploads a file, which stays where it is until this returns.
    ///
    /// It may be called again for the same file: after the app was ended, or after a temporary error.
    ///
    /// - Parameters:
    ///   - file: what is to be uploaded.
    ///   - progress: to be told how much of it is there, 0...1.
    ///
    /// When the message is cancelled or the client closed, the task that calls it is cancelled, and nobody waits for it any
    /// longer: what it returns then goes nowhere.
    ///
    /// - Returns: where everybody who gets the message finds it: an `http` or `https` URL.
    /// - Throws: why it can't be; a `ChatError` that is temporary (such as `unreachable`) is tried again by itself, any
    ///   other error fails the message.
    func upload(_ file: OutgoingFile, progress: @escaping @Sendable (Double) -> Void) async throws -> URL
}

/// A file on its way out.
public struct OutgoingFile: Sendable {
    /// The copy on this device.
    public let file: URL
    /// The type of the message it belongs to.
    public let type: MessageType
    /// What it is called, where it has a name.
    public let name: String?
    /// Its media type, by its bytes.
    public let mediaType: String
    /// In bytes.
    public let size: Int64

    /// A file for an uploader, as a test of the app's own may give it one.
    ///
    /// - Parameters:
    ///   - file: the copy on this device.
    ///   - type: the type of the message it belongs to.
    ///   - name: what it is called, where it has a name.
    ///   - mediaType: its media type, by its bytes.
    ///   - size: in bytes.
    public init(file: URL, type: MessageType, name: String?, mediaType: String, size: Int64) {
        self.file = file
        self.type = type
        self.name = name
        self.mediaType = mediaType
        self.size = size
    }
}
