package import Foundation

/// The properties of an image file, read without decoding it.
///
/// They are declared by the file: a decoder can still find that the image is damaged.
package struct PictureHeader: Hashable, Sendable {
    package var type: PictureType
    /// The stored width, before the orientation is applied.
    package var width = 0
    /// The stored height, before the orientation is applied.
    package var height = 0
    /// The Exif orientation, 1 to 8; 1 if the file has no valid one.
    package var orientation = 1
    /// The number of frames, more than 1 for an animated image; always 2 for a HEIF sequence.
    package var frames = 1
    /// The ICC color profile; empty if the file has none.
    package var profile = Data()
    /// The number of scans of a JPEG; 0 for other types.
    package var scans = 0
    /// The number of color components: 1 for a grayscale JPEG, 4 for a CMYK JPEG, otherwise 3.
    package var components = 3
    /// Whether the file is complete.
    package var isComplete = true

    init(type: PictureType) {
        self.type = type
    }

    /// The displayed width and height.
    package var upright: (width: Int, height: Int) {
        orientation > 4 ? (height, width) : (width, height)
    }
}

/// The supported image file types.
package enum PictureType: String, Hashable, Sendable, CaseIterable {
    case jpeg, png, gif, webp, heic, avif

    /// The media type, for example `image/jpeg`.
    package var mediaType: String { "image/\(rawValue)" }
}
