package import Foundation
package import ScrollbackPictures

/// Makes pictures smaller: upright, on white where they are see-through, as JPEG, without metadata.
///
/// It blocks while it works, on whatever thread it is called, and keeps nothing between calls. Memory goes with the
/// source, up to 8 bytes a pixel: 400 MB at the usual limits, so one or two at a time are enough.
package struct PictureScaler: Sendable {
    /// What is refused before anything is decoded.
    package var limits: PictureLimits

    package init(limits: PictureLimits = PictureLimits()) {
        self.limits = limits
    }

    /// The picture of a message and its thumbnail, from one decode.
    ///
    /// It takes JPEG, PNG and WebP, and where the system can, HEIC and AVIF. A picture is never made larger than it is.
    ///
    /// - Throws: `.moving` for what would stop moving, which is best sent as it is, and `.noDecoder` for what this
    ///   system can't read.
    package func messagePictures(
        _ file: Data, sizes: MessagePictures.Sizes = .init()
    ) throws(PictureError) -> MessagePictures {
        let file = try checked(file)
        let raster = try Raster(file, longestSide: sizes.longestSide)
        // From the smaller one: it makes no difference that one sees, and takes no time.
        let thumbnail = try raster.scaled(longestSide: sizes.longestSideOfThumbnail)
        return MessagePictures(
            picture: try ScaledPicture(raster, sizes.quality, profileOf: file),
            thumbnail: try ScaledPicture(thumbnail, sizes.qualityOfThumbnail, profileOf: file))
    }

    /// Everything that can be refused without a decoder is.
    private func checked(_ file: Data) throws(PictureError) -> PictureFile {
        let file = try PictureFile(file)
        try limits.check(file.header)
        guard file.header.type != .gif, file.header.frames == 1 else { throw .moving }
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
        // Not a number is as bad as none.
        jpeg = try raster.jpeg(quality: quality > 0 ? min(quality, 1) : 0, profileOf: source)
    }
}

/// What is made of a picture that is sent in a message.
package struct MessagePictures: Hashable, Sendable {
    package let picture: ScaledPicture
    package let thumbnail: ScaledPicture

    /// How large they become, and how good.
    package struct Sizes: Hashable, Sendable {
        package var longestSide = 1080
        package var quality = 0.85
        package var longestSideOfThumbnail = 240
        package var qualityOfThumbnail = 0.30

        package init() {}
    }
}

/// How large a picture becomes.
struct TargetSize {
    let width: Int
    let height: Int

    /// The longest side as asked for, the other one in proportion, and none larger than it is nor nothing at all.
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
