package import Foundation
package import ScrollbackModel
import ScrollbackPictures

/// What a file's bytes say of it, and whether that is what a type of message takes.
package struct MediaFacts: Hashable, Sendable {
    package var mediaType: String
    /// Of a picture that can be shown, as it is to be looked at.
    package var pixels: Media.Size?

    /// Looks at a whole file.
    ///
    /// - Throws: `invalid-media` where it is not what the type takes, or no device could show it.
    package init(of file: Data, for type: MessageType) throws(ChatError) {
        let fileType = FileType(of: file.prefix(FileType.prefixLength))
        mediaType = fileType.mediaType
        try Self.check(fileType, for: type)
        do {
            let header = try PictureFile(file).header
            try PictureLimits().check(header)
            let upright = header.upright
            pixels = Media.Size(width: upright.width, height: upright.height)
        } catch {
            // What is sent as a file may be anything.
            if type == .image || type == .gif { throw Self.refusal(error) }
        }
    }

    /// Whether bytes that a file begins with can be of one that a type takes; more of it can only be refused for more.
    ///
    /// - Parameter isWhole: whether nothing follows.
    /// - Returns: whether more of the beginning can tell more.
    static func check(beginning: Data, for type: MessageType) throws(ChatError) -> Bool {
        try check(FileType(of: beginning.prefix(FileType.prefixLength)), for: type)
        guard type == .image || type == .gif else { return false }
        // What is damaged so far may be cut off only.
        guard var header = try? PictureFile(beginning).header else { return true }
        header.isComplete = true
        do {
            try PictureLimits().check(header)
        } catch {
            throw refusal(error)
        }
        return false
    }

    private static func check(_ found: FileType, for type: MessageType) throws(ChatError) {
        guard found.fits(type) else {
            throw ChatError(
                .invalidMedia, "the file is \(found.mediaType) by its bytes, and \(need(of: type))", parameter: "type")
        }
    }

    private static func need(of type: MessageType) -> String {
        switch type {
        case .image: "a message of type image takes a picture"
        case .gif: "a message of type gif takes a GIF"
        case .voice: "a voice message takes sound"
        default: "a message of type \(type) takes a video"
        }
    }

    private static func refusal(_ error: PictureError) -> ChatError {
        ChatError(.invalidMedia, error.message, parameter: "type", cause: error)
    }
}
