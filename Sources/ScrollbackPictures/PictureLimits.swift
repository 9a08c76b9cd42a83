/// What is too much to decode: a file of a kilobyte can claim a picture of gigabytes.
package struct PictureLimits: Hashable, Sendable {
    /// The most pixels, all together.
    ///
    /// Decoding takes up to 8 bytes for each.
    package var pixels: Int
    /// The longest side.
    package var side: Int
    /// The most scans of a JPEG: each is work for the whole picture, however few bytes it has.
    package var scans: Int

    package init(pixels: Int = 50_000_000, side: Int = 29_999, scans: Int = 100) {
        self.pixels = pixels
        self.side = side
        self.scans = scans
    }

    /// Refuses what is too large to decode, and what is cut off.
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
