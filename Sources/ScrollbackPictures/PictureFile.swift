package import Foundation

/// An image file and its header; nothing here decodes an image.
///
/// The file can be memory-mapped: reading the header copies only the color profile.
package struct PictureFile: Sendable {
    package let data: Data
    package let header: PictureHeader

    /// Parses the header of a file.
    ///
    /// A truncated file, or one that declares a huge size, still has a header. Use ``PictureLimits`` to decide whether
    /// to decode it.
    ///
    /// - Parameter steps: Counts and limits the work.
    /// - Throws: `.tooManyParts` if reading the header exceeds the limit.
    package init(_ data: Data, steps: PictureSteps = PictureSteps()) throws(PictureError) {
        let bytes = Bytes(data, steps: steps)
        self.data = data
        header =
            switch PictureType(bytes) {
            case .jpeg: try JPEG.header(of: bytes)
            case .png: try PNG.header(of: bytes)
            case .gif: try GIF.header(of: bytes)
            case .webp: try WebP.header(of: bytes)
            case .heic, .avif: try HEIF.header(of: bytes)
            case nil: throw .unknown
            }
    }

    /// Returns the image without metadata, without decoding it.
    ///
    /// This removes location, time, device, author, comments, separate previews, and any data after the end. The color
    /// profile, orientation and animation stay, because they affect the appearance. A preview among the images of a
    /// HEIC or AVIF file stays too, because it shows nothing else.
    ///
    /// - Throws: `.animated` for a GIF, which should be sent unchanged.
    package func cleaned() throws(PictureError) -> Data {
        guard header.isComplete else { throw .corrupt }
        let bytes = Bytes(data)
        return switch header.type {
        case .jpeg: try JPEG.cleaned(bytes, header)
        case .png: try PNG.cleaned(bytes, header)
        case .gif: throw .animated
        case .webp: try WebP.cleaned(bytes, header)
        case .heic, .avif: try HEIF.cleaned(bytes, header)
        }
    }
}

extension PictureType {
    /// Detects the type of a file from its first bytes.
    init?(_ bytes: Bytes) {
        if bytes.matches([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.matches([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.matches("GIF87a".utf8) || bytes.matches("GIF89a".utf8) {
            self = .gif
        } else if bytes.matches("RIFF".utf8), bytes.matches("WEBP".utf8, at: 8) {
            self = .webp
        } else if let type = HEIF.type(of: bytes) {
            self = type
        } else {
            return nil
        }
    }
}
