import Foundation
import ScrollbackPictureScaling
import ScrollbackPictures

extension PictureScaler {
    /// The picture alone.
    func scaled(_ file: Data, longestSide: Int, quality: Double) throws(PictureError) -> ScaledPicture {
        var sizes = MessagePictures.Sizes()
        sizes.longestSide = longestSide
        sizes.quality = quality
        return try messagePictures(file, sizes: sizes).picture
    }
}
