/// The limits for decoding, because a file of a kilobyte can declare an image of gigabytes.
package struct PictureLimits: Hashable, Sendable {
    /// The maximum number of pixels.
    ///
    /// Decoding needs up to 8 bytes per pixel.
    package var pixels: Int
    /// The maximum length of a side in pixels.
    package var side: Int
    /// The maximum number of scans of a JPEG; each scan processes the whole image, regardless of its bytes.
    package var scans: Int

    package init(pixels: Int = 50_000_000, side: Int = 29_999, scans: Int = 100) {
        self.pixels = pixels
        self.side = side
        self.scans = scans
    }

    /// Checks a header against the limits.
    ///
    /// - Throws: `.tooLarge`, `.tooManyScans`, or `.corrupt` for a truncated file.
    package func check(_ header: PictureHeader) throws(PictureError) {
        let (width, height) = (header.width, header.height)
        let (product, overflows) = width.multipliedReportingOverflow(by: height)
        guard max(width, height) <= side, !overflows, product <= pixels else {
            throw .tooLarge(width: width, height: height)
        }
        guard header.scans <= scans else { throw .tooManyScans(header.scans) }
        guard header.isComplete else { throw .corrupt }
    }
}
