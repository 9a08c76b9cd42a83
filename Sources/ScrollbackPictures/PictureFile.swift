package import Foundation

/// The bytes of a picture file, and what they say of themselves; nothing here decodes a picture.
///
/// The file may be mapped into memory: reading the header copies nothing but the colour profile.
package struct PictureFile: Sendable {
    package let data: Data
    package let header: PictureHeader

    /// Reads the header.
    ///
    /// Whether it is worth decoding is for ``PictureLimits`` to say: a file whose end is missing, or that claims to be
    /// huge, still has a header.
    package init(_ data: Data) throws(PictureError) {
        let bytes = Bytes(data)
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

    /// The same picture, not decoded, without what its pixels don't need: where, when, with what and by whom it was
    /// taken, comments, previews in segments and chunks of their own, and whatever follows its end.
    ///
    /// What decides how it looks stays: colour profile, orientation, animation. So does a preview that a HEIC or AVIF file has
    /// among its pictures: it shows what the picture shows, and says nothing more.
    ///
    /// - Throws: `.moving` for a GIF, which is sent as it is.
    package func cleaned() throws(PictureError) -> Data {
        guard header.isComplete else { throw .corrupt }
        let bytes = Bytes(data)
        return switch header.type {
        case .jpeg: try JPEG.cleaned(bytes, header)
        case .png: try PNG.cleaned(bytes, header)
        case .gif: throw .moving
        case .webp: try WebP.cleaned(bytes, header)
        case .heic, .avif: try HEIF.cleaned(bytes, header)
        }
    }
}

extension PictureType {
    /// The type of a file, by its first bytes.
    init?(_ bytes: Bytes) {
        if bytes.has([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.has("GIF87a".utf8) || bytes.has("GIF89a".utf8) {
            self = .gif
        } else if bytes.has("RIFF".utf8), bytes.has("WEBP".utf8, at: 8) {
            self = .webp
        } else if let type = HEIF.type(of: bytes) {
            self = type
        } else {
            return nil
        }
    }
}
