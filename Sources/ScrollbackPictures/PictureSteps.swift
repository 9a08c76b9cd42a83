/// The number of steps that reading one image file may take, which bounds the time and memory for crafted files.
///
/// A part costs ``part`` steps: a box, segment, chunk, block or frame. An entry of a table inside a part costs one
/// step, and so does a piece of a GIF block. The same is true of a marker byte in the compressed data of a JPEG. The
/// steps don't include searching for such a byte, which takes about as long as copying the file.
package final class PictureSteps {
    /// The cost of a part.
    package static let part = 16
    /// The default limit: 65,536 parts, or a million steps inside of parts.
    ///
    /// An image of 50 megapixels has about 6,500 parts as PNG, and about 400,000 marker bytes as a JPEG of 100 MB.
    package static let standardLimit = 65_536 * part

    package let limit: Int
    /// The number of steps taken so far.
    package private(set) var count = 0
    /// Whether reading ended at the limit.
    package private(set) var hasReachedLimit = false

    package init(limit: Int = PictureSteps.standardLimit) {
        self.limit = limit
    }

    /// Counts steps before they are taken.
    ///
    /// - Throws: `.tooManyParts` if they exceed the limit.
    func take(_ steps: Int = 1) throws(PictureError) {
        guard count <= limit - steps else {
            hasReachedLimit = true
            throw .tooManyParts
        }
        count += steps
    }
}
