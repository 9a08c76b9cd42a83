import Foundation
import ScrollbackPictureScaling
import ScrollbackPictures

extension PictureScaler {
    /// Returns only the scaled picture, without the thumbnail.
    func scaled(_ file: Data, longestSide: Int, quality: Double) throws(PictureError) -> ScaledPicture {
        var sizes = MessagePictures.Sizes()
        sizes.longestSide = longestSide
        sizes.quality = quality
        return try messagePictures(file, sizes: sizes).picture
    }
}
