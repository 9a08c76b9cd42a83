public import Foundation

/// The file a message is about: where it lies, and what can be said of it before it is fetched.
public struct Media: Hashable, Sendable {
    /// Where a file lies.
    public enum Source: Hashable, Sendable {
        /// On this server, readable for whoever may see a message with it.
        case hosted(MediaID)
        /// Somewhere else, `http` or `https`: no limit of this server is about it (rows 107, 111).
        case remote(URL)
    }

    /// A size in pixels.
    public struct Size: Hashable, Sendable {
        /// Pixels across, 1 or more.
        public var width: Int
        /// Pixels from top to bottom, 1 or more.
        public var height: Int

        /// A size of so many pixels.
        public init(width: Int, height: Int) {
            self.width = width
            self.height = height
        }
    }

    /// Where the file lies.
    public var source: Source
    /// What it is called, at most 255 bytes of UTF-8.
    public var name: String?
    /// Its media type (RFC 6838), such as `image/jpeg`; a file that lies on this server has the one its bytes show.
    public var mediaType: String?
    /// How large it is, in bytes.
    public var size: Int64?
    /// Of a picture or a video, as it is to be shown.
    public var pixels: Size?
    /// Of a voice message or a video, in seconds.
    public var duration: TimeInterval?
    /// The small picture that goes with it, where there is one.
    public var thumbnail: Size?

    /// A file with what is known of it.
    public init(
        _ source: Source, name: String? = nil, mediaType: String? = nil, size: Int64? = nil, pixels: Size? = nil,
        duration: TimeInterval? = nil, thumbnail: Size? = nil
    ) {
        self.source = source
        self.name = name
        self.mediaType = mediaType
        self.size = size
        self.pixels = pixels
        self.duration = duration
        self.thumbnail = thumbnail
    }

    /// The file's id, where it lies on this server.
    public var id: MediaID? { if case .hosted(let id) = source { id } else { nil } }
}

// MARK: As content

extension MessageContent {
    /// A file as the content of one of the types that are files.
    package static func media(_ type: MessageType, _ media: Media) -> MessageContent {
        MessageContent(type) { media.writeMembers(to: &$0) }
    }

    /// The file, where the content is one.
    public var media: Media? { type.isMedia ? try? Media(json) : nil }
}

extension Media {
    private static let longestName = 255
    private static let longestURL = 2048
    /// Stands in until the file's own id is read.
    private static let unnamed = MediaID(MessageID(high: 0, low: 0).uuid)

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
        if let thumbnail {
            writer.key("thumbnail")
            writer.object {
                $0.field("width", thumbnail.width); $0.field("height", thumbnail.height)
            }
        }
    }

    /// - Throws: `invalid-parameter` naming the member that is wrong.
    init(_ json: RawJSON) throws(ChatError) {
        var (hosted, remote): (MediaID?, URL?) = (nil, nil)
        var (pixels, small) = (PixelFields(), PixelFields())
        var media = Media(.hosted(Self.unnamed))
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
            case "thumbnail":
                try value.object { (member, value) throws(ChatError) in
                    switch member {
                    case "width": small.width = try value.pixels()
                    case "height": small.height = try value.pixels()
                    default: try value.skip()
                    }
                }
                guard small.size != nil else { throw value.mismatch("an object with width and height") }
            default: try value.skip()
            }
        }
        switch (hosted, remote) {
        case (let id?, nil): media.source = .hosted(id)
        case (nil, let url?): media.source = .remote(url)
        default: throw .invalidParameter("content", "of a file must have either media or url")
        }
        media.pixels = pixels.size
        media.thumbnail = small.size
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

    package static func name(_ text: String) throws(ChatError) -> String {
        guard (1...longestName).contains(text.utf8.count), !text.unicodeScalars.contains(where: \.isControl) else {
            throw .invalidParameter(
                "name", "must be 1...\(longestName) bytes of UTF-8 without control characters", limit: longestName)
        }
        return text
    }

    /// A name as long as one may be: what is too long loses the end of what stands before its ending.
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
        guard text.utf8.count <= longestURL, let url = URL(string: text), ["http", "https"].contains(url.scheme),
            url.host()?.isEmpty == false
        else {
            throw .invalidParameter(
                parameter, "must be an http or https URL of at most \(longestURL) bytes", limit: longestURL)
        }
        return url
    }

    /// `type/subtype`, perhaps with parameters, in the characters of RFC 6838 and RFC 9110.
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
