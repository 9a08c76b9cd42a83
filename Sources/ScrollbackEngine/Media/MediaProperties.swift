package import Foundation
package import ScrollbackModel
package import ScrollbackPictures

/// The properties of a file that its bytes show, and the check that it matches a message type.
package struct MediaProperties: Hashable, Sendable {
    package var mediaType: String
    /// The size of an image after applying its orientation, in pixels.
    package var pixels: Media.Size?

    /// How much of a file that need not be an image is examined, in bytes.
    private static let examinedBytes = 1 << 20

    /// Examines a complete file.
    ///
    /// Images and GIFs are read as far as their headers extend. Only the first MiB of other files is searched for the
    /// size of an image.
    ///
    /// - Parameter steps: Counts and limits the work.
    /// - Throws: `invalid-media` if the file does not match the type, or if no device could display it.
    package init(
        of file: Data, for type: MessageType, steps: PictureSteps = PictureSteps()
    ) throws(ChatError) {
        let fileType = FileType(of: file.prefix(FileType.prefixLength))
        mediaType = fileType.mediaType
        try Self.check(fileType, for: type)
        let needsImage = type == .image || type == .gif
        let part = needsImage ? file : file.prefix(Self.examinedBytes)
        do {
            var header = try PictureFile(part, steps: steps).header
            if part.count < file.count { header.isComplete = true }
            try PictureLimits().check(header)
            let upright = header.upright
            pixels = Media.Size(width: upright.width, height: upright.height)
        } catch {
            // Messages of type file accept any content.
            if needsImage { throw Self.refusal(error) }
        }
    }

    /// Checks whether a file can match the type, given its first bytes; later bytes can only add reasons to refuse it.
    ///
    /// - Returns: Whether more bytes can change the result.
    static func check(beginning: Data, for type: MessageType, steps: PictureSteps) throws(ChatError) -> Bool {
        try check(FileType(of: beginning.prefix(FileType.prefixLength)), for: type)
        guard type == .image || type == .gif else { return false }
        do {
            var header = try PictureFile(beginning, steps: steps).header
            header.isComplete = true
            try PictureLimits().check(header)
            return false
        } catch {
            // The header may only be incomplete, not damaged.
            guard error.isFinal else { return true }
            throw refusal(error)
        }
    }

    private static func check(_ found: FileType, for type: MessageType) throws(ChatError) {
        guard found.isAllowed(in: type) else {
            throw ChatError(
                .invalidMedia, "The file's content is \(found.mediaType), but \(need(of: type)).", parameter: "type")
        }
    }

    private static func need(of type: MessageType) -> String {
        switch type {
        case .image: "a message of type image requires an image"
        case .gif: "a message of type gif requires a GIF"
        case .voice: "a voice message requires audio"
        default: "a message of type \(type) requires a video"
        }
    }

    private static func refusal(_ error: PictureError) -> ChatError {
        ChatError(.invalidMedia, error.message, parameter: "type", cause: error)
    }
}

extension PictureError {
    /// Whether more bytes of the file can't change the error.
    fileprivate var isFinal: Bool {
        switch self {
        case .tooLarge, .tooManyParts, .tooManyScans: true
        case .unknown, .unsupported, .corrupt, .animated, .noDecoder, .failed: false
        }
    }
}
