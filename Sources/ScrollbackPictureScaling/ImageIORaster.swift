#if canImport(ImageIO)
    import CoreGraphics
    import Foundation
    import ImageIO
    import ScrollbackPictures
    import UniformTypeIdentifiers

    /// The pixels of an image: a Core Graphics image without transparency.
    struct Raster: ~Copyable {
        private let image: CGImage

        private init(_ image: CGImage) {
            self.image = image
        }

        var width: Int { image.width }
        var height: Int { image.height }

        /// Returns whether the system can decode the type; AVIF requires macOS 13 or iOS 16.
        static func decodes(_ type: PictureType) -> Bool {
            let types = CGImageSourceCopyTypeIdentifiers() as? [String] ?? []
            return UTType(mimeType: type.mediaType).map { types.contains($0.identifier) } ?? false
        }

        /// Decodes a file whose header was checked, scales it down, and applies its orientation.
        init(_ file: PictureFile, longestSide: Int) throws(PictureError) {
            let upright = file.header.upright
            let target = TargetSize(upright.width, upright.height, longestSide: longestSide)
            let options: [CFString: Any] = [
                // Never use an embedded preview.
                kCGImageSourceCreateThumbnailFromImageAlways: true,
                kCGImageSourceCreateThumbnailWithTransform: true,
                kCGImageSourceThumbnailMaxPixelSize: max(target.width, target.height),
                kCGImageSourceShouldCacheImmediately: true,
            ]
            guard let source = CGImageSourceCreateWithData(file.data as CFData, nil),
                let image = CGImageSourceCreateThumbnailAtIndex(source, 0, options as CFDictionary),
                // ImageIO also returns an image for a truncated file.
                CGImageSourceGetStatus(source) == .statusComplete,
                CGImageSourceGetStatusAtIndex(source, 0) == .statusComplete
            else { throw .corrupt }
            // Keep ImageIO's rounding of the shorter side.
            self.init(try Self.drawn(image, image.width, image.height))
        }

        borrowing func scaled(longestSide: Int) throws(PictureError) -> Raster {
            let target = TargetSize(width, height, longestSide: longestSide)
            return Raster(try Self.drawn(image, target.width, target.height))
        }

        /// The maximum size of a preserved profile in bytes; profiles of displays and cameras are smaller.
        private static let largestProfile = 16 << 10

        /// Draws the image on white with 8 bits per component.
        ///
        /// The color space is preserved if it is RGB and its profile is small.
        private static func drawn(_ image: CGImage, _ width: Int, _ height: Int) throws(PictureError) -> CGImage {
            func bitmap(_ space: CGColorSpace?) -> CGContext? {
                guard let space, space.model == .rgb else { return nil }
                return CGContext(
                    data: nil, width: width, height: height, bitsPerComponent: 8, bytesPerRow: 0, space: space,
                    bitmapInfo: CGImageAlphaInfo.noneSkipLast.rawValue)
            }
            // Some color spaces, such as those with more than 8 bits, allow no context. A large profile would dominate
            // a small file.
            let profile = image.colorSpace?.copyICCData().map { CFDataGetLength($0) } ?? 0
            let own = profile <= largestProfile ? image.colorSpace : nil
            guard let context = bitmap(own) ?? bitmap(CGColorSpace(name: CGColorSpace.sRGB)) else {
                throw .failed
            }
            let whole = CGRect(x: 0, y: 0, width: width, height: height)
            context.setFillColor(red: 1, green: 1, blue: 1, alpha: 1)
            context.fill(whole)
            context.interpolationQuality = .high
            context.draw(image, in: whole)
            guard let drawn = context.makeImage() else { throw .failed }
            return drawn
        }

        /// Encodes the image as JPEG; ImageIO adds the color profile.
        borrowing func jpeg(quality: Double, profileOf source: PictureFile) throws(PictureError) -> Data {
            let file = NSMutableData()
            let options: [CFString: Any] = [kCGImageDestinationLossyCompressionQuality: quality]
            guard
                let destination = CGImageDestinationCreateWithData(file, UTType.jpeg.identifier as CFString, 1, nil)
            else { throw .failed }
            CGImageDestinationAddImage(destination, image, options as CFDictionary)
            guard CGImageDestinationFinalize(destination) else { throw .failed }
            // Removes the Exif data that ImageIO adds.
            return try PictureFile(file as Data).cleaned()
        }
    }
#endif
