package import Foundation
package import ScrollbackPictures

/// Scales images down and encodes them as upright JPEG files on white, without metadata.
///
/// The methods block the calling thread and keep no state. Memory use depends on the source, up to 8 bytes per pixel.
/// With the default limits, that is 400 MB, so run at most one or two at a time.
package struct PictureScaler: Sendable {
    /// The limits that are checked before decoding.
    package var limits: PictureLimits

    package init(limits: PictureLimits = PictureLimits()) {
        self.limits = limits
    }

    /// Creates the image of a message and its thumbnail, with a single decode.
    ///
    /// The source can be JPEG, PNG or WebP, and HEIC or AVIF if the system decodes them. Images are never enlarged.
    ///
    /// - Throws: `.animated` for an animated image, which should be sent unchanged; `.noDecoder` if this system can't
    ///   decode the type.
    package func messagePictures(
        _ file: Data, sizes: MessagePictures.Sizes = .init()
    ) throws(PictureError) -> MessagePictures {
        let file = try checked(file)
        let raster = try Raster(file, longestSide: sizes.longestSide)
        // Scale from the smaller image: the result looks the same and takes no time.
        let thumbnail = try raster.scaled(longestSide: sizes.longestSideOfThumbnail)
        return MessagePictures(
            picture: try ScaledPicture(raster, sizes.quality, profileOf: file),
            thumbnail: try ScaledPicture(thumbnail, sizes.qualityOfThumbnail, profileOf: file))
    }

    /// Parses and validates a file without decoding it.
    private func checked(_ file: Data) throws(PictureError) -> PictureFile {
        let file = try PictureFile(file)
        try limits.check(file.header)
        guard file.header.type != .gif, file.header.frames == 1 else { throw .animated }
        guard Raster.decodes(file.header.type) else { throw .noDecoder(file.header.type) }
        return file
    }
}

/// A JPEG file and its size in pixels.
package struct ScaledPicture: Hashable, Sendable {
    package let jpeg: Data
    package let width: Int
    package let height: Int

    fileprivate init(
        _ raster: borrowing Raster, _ quality: Double, profileOf source: PictureFile
    ) throws(PictureError) {
        width = raster.width
        height = raster.height
        // NaN is treated as 0.
        jpeg = try raster.jpeg(quality: quality > 0 ? min(quality, 1) : 0, profileOf: source)
    }
}

/// The images that are sent with a message.
package struct MessagePictures: Hashable, Sendable {
    package let picture: ScaledPicture
    package let thumbnail: ScaledPicture

    /// The sizes and qualities of the images.
    package struct Sizes: Hashable, Sendable {
        package var longestSide = 1080
        package var quality = 0.85
        package var longestSideOfThumbnail = 240
        package var qualityOfThumbnail = 0.30

        package init() {}
    }
}

/// The size of a scaled image.
struct TargetSize {
    let width: Int
    let height: Int

    /// Computes the size from the longest side, keeping the aspect ratio.
    ///
    /// Sides are never enlarged and are at least 1.
    init(_ width: Int, _ height: Int, longestSide: Int) {
        let longest = max(width, height)
        let wanted = max(1, longestSide)
        func scaled(_ side: Int) -> Int {
            longest <= wanted ? side : max(1, (side * wanted + longest / 2) / longest)
        }
        self.width = scaled(width)
        self.height = scaled(height)
    }
}
