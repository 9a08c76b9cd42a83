package import Foundation

/// What a picture file says of itself, read without decoding it.
///
/// All of it is the file's own claim: a decoder may still find that the picture is damaged.
package struct PictureHeader: Hashable, Sendable {
    package var type: PictureType
    /// As stored, before it is turned.
    package var width = 0
    /// As stored, before it is turned.
    package var height = 0
    /// How it is turned to be upright, 1 to 8 as in Exif; 1 when the file says nothing that makes sense.
    package var orientation = 1
    /// More than 1 when it moves; the frames of a HEIF sequence are not counted, it has 2.
    package var frames = 1
    /// The ICC profile of its colours, or nothing.
    package var profile = Data()
    /// How often a JPEG goes over its picture; 0 for other types.
    package var scans = 0
    /// 1 for a grey JPEG, 4 for one in printing colours, else 3.
    package var components = 3
    /// Whether its end is there.
    package var isComplete = true

    init(type: PictureType) {
        self.type = type
    }

    /// Width and height as one sees it.
    package var upright: (width: Int, height: Int) {
        orientation > 4 ? (height, width) : (width, height)
    }
}

/// The kinds of picture file that are known.
package enum PictureType: String, Hashable, Sendable, CaseIterable {
    case jpeg, png, gif, webp, heic, avif

    /// For example `image/jpeg`.
    package var mediaType: String { "image/\(rawValue)" }
}
