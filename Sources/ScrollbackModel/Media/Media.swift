public import Foundation

/// The file of a message: its location and its properties.
public struct Media: Hashable, Sendable {
    /// The location of a file.
    public enum Source: Hashable, Sendable {
        /// A file on this server, readable by the users who may see a message with it.
        case hosted(MediaID)
        /// An `http` or `https` URL on another server, to which the limits of this server don't apply.
        case remote(URL)
    }

    /// A size in pixels.
    public struct Size: Hashable, Sendable {
        /// The width in pixels, 1 or more.
        public var width: Int
        /// The height in pixels, 1 or more.
        public var height: Int

        /// Creates a size.
        public init(width: Int, height: Int) {
            self.width = width
            self.height = height
        }
    }

    /// The location of the file.
    public var source: Source
    /// The file name, at most 255 bytes of UTF-8.
    public var name: String?
    /// The media type (RFC 6838), such as `image/jpeg`; for a file on this server, the type detected from its bytes.
    public var mediaType: String?
    /// The size in bytes.
    public var size: Int64?
    /// The display size of an image or a video.
    public var pixels: Size?
    /// The duration of a voice message or a video in seconds.
    public var duration: TimeInterval?
    /// The loudness of a voice message over its duration, for display: 1 to 200 values from 0 to 100, evenly spaced.
    public var waveform: [Int]?
    /// The size of the thumbnail, if the file has one.
    public var thumbnail: Size?

    /// Creates a media value.
    public init(
        _ source: Source, name: String? = nil, mediaType: String? = nil, size: Int64? = nil, pixels: Size? = nil,
        duration: TimeInterval? = nil, waveform: [Int]? = nil, thumbnail: Size? = nil
    ) {
        self.source = source
        self.name = name
        self.mediaType = mediaType
        self.size = size
        self.pixels = pixels
        self.duration = duration
        self.waveform = waveform
        self.thumbnail = thumbnail
    }

    /// The ID of the file if it is on this server.
    public var id: MediaID? { if case .hosted(let id) = source { id } else { nil } }
}

// MARK: As content

extension MessageContent {
    /// Returns the content for a file of a media type.
    package static func media(_ type: MessageType, _ media: Media) -> MessageContent {
        MessageContent(type) { media.writeMembers(to: &$0) }
    }

    /// The file, if the content is of a media type.
    public var media: Media? { type.isMedia ? try? Media(json) : nil }
}

extension Media {
    private static let longestName = 255
    static let longestURL = 2048
    private static let longestWaveform = 200
    /// A placeholder until the file's ID is read.
    private static let placeholderID = MediaID(MessageID(high: 0, low: 0).uuid)

    func writeMembers(to writer: inout JSONWriter) {
        switch source {
        case .hosted(let id): writer.field("media", id)
        case .remote(let url): writer.field("url", url.absoluteString)
        }
        writer.field("name", name)
        writer.field("mediaType", mediaType)
        writer.field("size", size)
        writer.field("width", pixels?.width)
        writer.field("height", pixels?.height)
        writer.field("duration", duration)
        if let waveform {
            writer.key("waveform")
            writer.array(waveform) { $0.value($1) }
        }
        if let thumbnail {
            writer.key("thumbnail")
            writer.object {
                $0.field("width", thumbnail.width); $0.field("height", thumbnail.height)
            }
        }
    }

    /// Parses the JSON of a media content.
    ///
    /// - Throws: `invalid-parameter` naming the invalid member.
    init(_ json: RawJSON) throws(ChatError) {
        var (hosted, remote): (MediaID?, URL?) = (nil, nil)
        var (pixels, thumbnailPixels) = (PixelFields(), PixelFields())
        var media = Media(.hosted(Self.placeholderID))
        var reader = JSONReader(json.text, field: "content")
        try reader.object { (member, value) throws(ChatError) in
            switch member {
            case "media": hosted = try MediaID(try value.string(), parameter: "media")
            case "url": remote = try Self.url(try value.string())
            case "name": media.name = try Self.name(try value.string())
            case "mediaType": media.mediaType = try Self.mediaType(try value.string())
            case "size":
                let size = try value.integer()
                guard size >= 0 else { throw value.mismatch("0 or more") }
                media.size = size
            case "width": pixels.width = try value.pixels()
            case "height": pixels.height = try value.pixels()
            case "duration":
                let duration = try value.double()
                guard duration >= 0 else { throw value.mismatch("0 or more") }
                media.duration = duration
            case "waveform":
                var values: [Int] = []
                try value.array { (value) throws(ChatError) in values.append(Int(clamping: try value.integer())) }
                media.waveform = try Self.waveform(values)
            case "thumbnail":
                try value.object { (member, value) throws(ChatError) in
                    switch member {
                    case "width": thumbnailPixels.width = try value.pixels()
                    case "height": thumbnailPixels.height = try value.pixels()
                    default: try value.skip()
                    }
                }
                guard thumbnailPixels.size != nil else { throw value.mismatch("an object with width and height") }
            default: try value.skip()
            }
        }
        switch (hosted, remote) {
        case (let id?, nil): media.source = .hosted(id)
        case (nil, let url?): media.source = .remote(url)
        default: throw .invalidParameter("content", "must have either media or url if its type is a file type")
        }
        media.pixels = pixels.size
        media.thumbnail = thumbnailPixels.size
        self = media
    }

    private struct PixelFields {
        var width: Int?
        var height: Int?

        var size: Size? {
            guard let width, let height else { return nil }
            return Size(width: width, height: height)
        }
    }

    package static func waveform(_ values: [Int]) throws(ChatError) -> [Int] {
        guard (1...longestWaveform).contains(values.count), values.allSatisfy((0...100).contains) else {
            throw .invalidParameter(
                "waveform", "must have 1...\(longestWaveform) values from 0 to 100", limit: longestWaveform)
        }
        return values
    }

    package static func name(_ text: String) throws(ChatError) -> String {
        guard (1...longestName).contains(text.utf8.count), !text.unicodeScalars.contains(where: \.isControl) else {
            throw .invalidParameter(
                "name", "must be 1...\(longestName) bytes of UTF-8 without control characters", limit: longestName)
        }
        return text
    }

    /// Returns a file name within the maximum length; a longer name is truncated before its extension.
    package static func shortened(_ name: String) -> String {
        guard name.utf8.count > longestName else { return name }
        var (base, ending) = (name[...], name[name.endIndex...])
        if let dot = name.lastIndex(of: "."), dot > name.startIndex, name[dot...].utf8.count < longestName / 2 {
            (base, ending) = (name[..<dot], name[dot...])
        }
        while base.utf8.count + ending.utf8.count > longestName { base.removeLast() }
        return String(base + ending)
    }

    package static func url(_ text: String, parameter: String = "url") throws(ChatError) -> URL {
        // `URL` would encode characters that other parsers treat differently.
        let isPlain = !text.unicodeScalars.contains { $0.breaksLine || $0.isBidirectionalControl }
        guard isPlain, text.utf8.count <= longestURL, let url = URL(string: text),
            ["http", "https"].contains(url.scheme), url.host()?.isEmpty == false
        else {
            throw .invalidParameter(
                parameter, "must be an http or https URL of at most \(longestURL) bytes", limit: longestURL)
        }
        return url
    }

    /// Validates a media type: `type/subtype`, optionally with parameters, in the characters of RFC 6838 and RFC 9110.
    package static func mediaType(_ text: String) throws(ChatError) -> String {
        let parts = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        guard text.utf8.count <= 128, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), parts.count == 2,
            parts.allSatisfy({ !$0.isEmpty && !$0.contains(" ") })
        else { throw .invalidParameter("mediaType", "must be a media type such as image/jpeg") }
        return text
    }
}

extension JSONReader {
    fileprivate mutating func pixels() throws(ChatError) -> Int {
        guard let number = Int(exactly: try integer()), (1...1_000_000).contains(number) else {
            throw mismatch("in 1...1000000")
        }
        return number
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
