import Foundation
import ScrollbackModel
import ScrollbackPictureScaling
import ScrollbackPictures

/// An attachment whose files are stored in the cache in the form in which they are sent.
struct PreparedAttachment: Sendable {
    var content: MessageContent
    /// The files to upload; empty if all of them are on the web.
    var files: [File] = []

    struct File: Sendable {
        var media: MediaID
        var type: MessageType
        var name: String?
        var stored: LocalFiles.Stored
        var thumbnail: LocalFiles.Stored?
    }
}

/// Prepares attachments for sending: copies and checks files, and scales images down.
///
/// It processes one attachment at a time, because decoding a large image takes hundreds of megabytes.
actor AttachmentProcessor {
    private let files: LocalFiles
    private let settings: MediaSettings

    init(files: LocalFiles, settings: MediaSettings) {
        self.files = files
        self.settings = settings
    }

    func prepare(_ attachment: MediaAttachment) async throws(ChatError) -> PreparedAttachment {
        switch attachment.kind {
        case .image(let original, let keepsLocation):
            return try image(attachment.sources[0], original: original, keepsLocation: keepsLocation)
        case .gif: return try gif(attachment.sources[0])
        case .file: return try plain(.file, attachment.sources[0])
        case .voice(let duration, let waveform):
            try Self.check(duration)
            if let waveform { _ = try Media.waveform(waveform) }
            return try plain(.voice, attachment.sources[0], duration: duration, waveform: waveform)
        case .video(let duration, let pixels, let poster):
            if let duration { try Self.check(duration) }
            return try await video(attachment.sources[0], duration, pixels, poster)
        case .custom(let content, _): return try custom(content, attachment.sources)
        }
    }

    private static func check(_ duration: TimeInterval) throws(ChatError) {
        guard duration >= 0, duration.isFinite else {
            throw .invalidParameter("duration", "must be at least 0 seconds")
        }
    }

    // MARK: Types

    private func image(
        _ source: MediaAttachment.Source, original: Bool, keepsLocation: Bool
    ) throws(ChatError) -> PreparedAttachment {
        guard let given = try data(of: source) else { return try remote(.image, source) }
        let picture = try picture(given.data)
        guard picture.header.type != .gif else {
            throw ChatError(.invalidMedia, "The image is a GIF. Send it with .gif.", parameter: "source")
        }
        var made: MessagePictures?
        do {
            made = try PictureScaler().messagePictures(given.data, sizes: settings.images.sizes)
        } catch .animated {
            // An animated image would lose its animation: send it unchanged.
        } catch .noDecoder where original {
            // The recipients' systems may be able to decode it.
        } catch {
            throw ChatError(picture: error)
        }
        let bytes: Data
        var media = Media(.hosted(MediaID()), name: given.name)
        if let made, !original {
            bytes = made.picture.jpeg
            media.pixels = Media.Size(width: made.picture.width, height: made.picture.height)
            media.name = media.name.map { Self.named($0, as: "jpg") }
        } else {
            do {
                bytes = keepsLocation ? given.data : try picture.cleaned()
            } catch {
                throw ChatError(picture: error)
            }
            media.pixels = Media.Size(width: picture.header.upright.width, height: picture.header.upright.height)
        }
        try Self.check(Int64(bytes.count), atMost: settings.largestFile)
        return try hosted(.image, media, try files.store(bytes), thumbnail: made?.thumbnail)
    }

    private func gif(_ source: MediaAttachment.Source) throws(ChatError) -> PreparedAttachment {
        guard let given = try data(of: source, atMost: settings.largestGIF) else { return try remote(.gif, source) }
        let picture = try picture(given.data)
        guard picture.header.type == .gif else {
            throw ChatError(
                .invalidMedia, "The image is not a GIF, but \(picture.header.type.mediaType). Send it with .image.",
                parameter: "source")
        }
        guard picture.header.isComplete else { throw ChatError(picture: .corrupt) }
        let media = Media(
            .hosted(MediaID()), name: given.name,
            pixels: Media.Size(width: picture.header.width, height: picture.header.height))
        return try hosted(.gif, media, try files.store(given.data))
    }

    private func video(
        _ source: MediaAttachment.Source, _ duration: TimeInterval?, _ pixels: Media.Size?, _ poster: Data?
    ) async throws(ChatError) -> PreparedAttachment {
        var (duration, pixels, poster) = (duration, pixels, poster)
        if case .file(let file) = source, let metadata = await VideoMetadata(file) {
            duration = duration ?? metadata.duration
            pixels = pixels ?? metadata.pixels
            poster = poster ?? metadata.poster
        }
        var thumbnail: ScaledPicture?
        if let poster {
            do {
                thumbnail = try PictureScaler().messagePictures(poster, sizes: settings.images.sizes).thumbnail
            } catch {
                throw ChatError(picture: error, parameter: "poster")
            }
        }
        return try plain(.video, source, duration: duration, pixels: pixels, thumbnail: thumbnail)
    }

    /// Prepares a file that is sent unchanged.
    private func plain(
        _ type: MessageType, _ source: MediaAttachment.Source, duration: TimeInterval? = nil, waveform: [Int]? = nil,
        pixels: Media.Size? = nil, thumbnail: ScaledPicture? = nil
    ) throws(ChatError) -> PreparedAttachment {
        guard let (stored, name) = try store(source) else {
            return try remote(type, source, duration: duration, waveform: waveform, pixels: pixels)
        }
        guard stored.type.isAllowed(in: type) else {
            throw ChatError(
                .invalidMedia, "A message of type \(type) can't contain a file of type \(stored.type.mediaType).",
                parameter: "source")
        }
        let media = Media(
            .hosted(MediaID()), name: name, pixels: pixels, duration: duration, waveform: waveform)
        return try hosted(type, media, stored, thumbnail: thumbnail)
    }

    private func custom(
        _ content: MessageContent, _ sources: [MediaAttachment.Source]
    ) throws(ChatError) -> PreparedAttachment {
        var prepared: [PreparedAttachment.File] = []
        var places: [Media.Source] = []
        for source in sources {
            if let (stored, name) = try store(source) {
                let file = PreparedAttachment.File(media: MediaID(), type: .file, name: name, stored: stored)
                prepared.append(file)
                places.append(.hosted(file.media))
            } else if case .remote(let url, _) = source {
                places.append(.remote(try Media.url(url.absoluteString, parameter: "files")))
            }
        }
        return PreparedAttachment(content: try content.with(files: places), files: prepared)
    }

    // MARK: Steps

    private func picture(_ data: Data) throws(ChatError) -> PictureFile {
        do {
            let file = try PictureFile(data)
            try PictureLimits().check(file.header)
            return file
        } catch {
            throw ChatError(picture: error)
        }
    }

    private func hosted(
        _ type: MessageType, _ media: Media, _ stored: LocalFiles.Stored, thumbnail: ScaledPicture? = nil
    ) throws(ChatError) -> PreparedAttachment {
        guard let id = media.id else { return PreparedAttachment(content: .media(type, media)) }
        var media = media
        media.mediaType = stored.type.mediaType
        media.size = stored.size
        var small: LocalFiles.Stored?
        // A thumbnail that is too large, because of a color profile or the app's settings, is omitted.
        if let thumbnail, thumbnail.jpeg.count <= Media.largestThumbnail {
            small = try files.store(thumbnail.jpeg)
            media.thumbnail = Media.Size(width: thumbnail.width, height: thumbnail.height)
        }
        let file = PreparedAttachment.File(media: id, type: type, name: media.name, stored: stored, thumbnail: small)
        return PreparedAttachment(content: .media(type, media), files: [file])
    }

    private func remote(
        _ type: MessageType, _ source: MediaAttachment.Source, duration: TimeInterval? = nil, waveform: [Int]? = nil,
        pixels: Media.Size? = nil
    ) throws(ChatError) -> PreparedAttachment {
        guard case .remote(let url, let size) = source else {
            throw ChatError(.internalError, "Only a remote file can be sent without an upload.")
        }
        guard size ?? 0 >= 0 else { throw .invalidParameter("size", "must be at least 0 bytes") }
        let place = try Media.url(url.absoluteString, parameter: "source")
        return PreparedAttachment(
            content: .media(
                type, Media(.remote(place), size: size, pixels: pixels, duration: duration, waveform: waveform)))
    }

    /// Returns a stored copy of a local file, or `nil` for a file on the web.
    private func store(
        _ source: MediaAttachment.Source
    ) throws(ChatError) -> (stored: LocalFiles.Stored, name: String?)? {
        switch source {
        case .remote: return nil
        case .file(let file):
            let name = try Self.name(of: file)
            return (try files.store(contentsOf: file, atMost: settings.largestFile), name)
        case .data(let data, let name):
            try Self.check(Int64(data.count), atMost: settings.largestFile)
            let name = try name.map(Media.name)
            return (try files.store(data), name)
        }
    }

    /// Returns an image's bytes, or `nil` for a file on the web.
    private func data(
        of source: MediaAttachment.Source, atMost limit: Int64? = nil
    ) throws(ChatError) -> (data: Data, name: String?)? {
        let limit = limit ?? settings.largestFile
        switch source {
        case .remote: return nil
        case .data(let data, let name):
            try Self.checkImage(data, atMost: limit)
            return (data, try name.map(Media.name))
        case .file(let file):
            let name = try Self.name(of: file)
            let data = try LocalFiles.bytes(of: file, atMost: limit)
            try Self.checkImage(data, atMost: limit)
            return (data, name)
        }
    }

    /// Returns the name of a local file, shortened to the limit for messages.
    private static func name(of file: URL) throws(ChatError) -> String {
        guard file.isFileURL else {
            throw .invalidParameter("source", "must be a file URL: use .remote for a file on the web")
        }
        return try Media.name(Media.shortened(file.lastPathComponent))
    }

    private static func checkImage(_ data: Data, atMost limit: Int64) throws(ChatError) {
        guard !data.isEmpty else { throw .emptyImage }
        try check(Int64(data.count), atMost: limit)
    }

    private static func check(_ size: Int64, atMost limit: Int64) throws(ChatError) {
        guard size <= limit else { throw .mediaTooLarge(limit: limit) }
    }

    private static func named(_ name: String, as suffix: String) -> String {
        let base = (name as NSString).deletingPathExtension
        let given = (name as NSString).pathExtension.lowercased()
        return given == suffix || given == "jpeg" ? name : Media.shortened("\(base).\(suffix)")
    }
}

extension ChatError {
    fileprivate static let emptyImage = ChatError(
        .invalidMedia, "The file is empty, so it is not an image. Send it with `.file`.", parameter: "source")

    fileprivate init(picture error: PictureError, parameter: String = "source") {
        self.init(.invalidMedia, error.message, parameter: parameter, cause: error)
    }
}

extension ImagePolicy {
    fileprivate var sizes: MessagePictures.Sizes {
        var sizes = MessagePictures.Sizes()
        sizes.longestSide = longestSide
        sizes.quality = quality
        sizes.longestSideOfThumbnail = thumbnailLongestSide
        sizes.qualityOfThumbnail = thumbnailQuality
        return sizes
    }
}
