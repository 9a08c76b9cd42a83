#if canImport(ImageIO)
    import CoreGraphics
    import Foundation
    import ImageIO
    import ScrollbackPictures
    import UniformTypeIdentifiers

    /// The pixels of a picture: an image of Core Graphics, without transparency.
    struct Raster: ~Copyable {
        private let image: CGImage

        private init(_ image: CGImage) {
            self.image = image
        }

        var width: Int { image.width }
        var height: Int { image.height }

        /// The types this system reads, AVIF since macOS 13 and iOS 16.
        static func decodes(_ type: PictureType) -> Bool {
            let types = CGImageSourceCopyTypeIdentifiers() as? [String] ?? []
            return UTType(mimeType: type.mediaType).map { types.contains($0.identifier) } ?? false
        }

        /// Decodes a file whose header was checked, and makes it smaller and upright.
        init(_ file: PictureFile, longestSide: Int) throws(PictureError) {
            let upright = file.header.upright
            let target = TargetSize(upright.width, upright.height, longestSide: longestSide)
            let options: [CFString: Any] = [
                // Never the preview that a camera put in.
                kCGImageSourceCreateThumbnailFromImageAlways: true,
                kCGImageSourceCreateThumbnailWithTransform: true,
                kCGImageSourceThumbnailMaxPixelSize: max(target.width, target.height),
                kCGImageSourceShouldCacheImmediately: true,
            ]
            guard let source = CGImageSourceCreateWithData(file.data as CFData, nil),
                let image = CGImageSourceCreateThumbnailAtIndex(source, 0, options as CFDictionary),
                // Of what is cut off, ImageIO makes a picture too.
                CGImageSourceGetStatus(source) == .statusComplete,
                CGImageSourceGetStatusAtIndex(source, 0) == .statusComplete
            else { throw .corrupt }
            // Its own rounding of the shorter side stays.
            self.init(try Self.drawn(image, image.width, image.height))
        }

        borrowing func scaled(longestSide: Int) throws(PictureError) -> Raster {
            let target = TargetSize(width, height, longestSide: longestSide)
            return Raster(try Self.drawn(image, target.width, target.height))
        }

        /// The profiles that are kept, in bytes; those of displays and cameras have less.
        private static let largestProfile = 16 << 10

        /// The image in 8 bits a colour and in its own colours, if they are red, green and blue and can be said in few bytes,
        /// on white.
        private static func drawn(_ image: CGImage, _ width: Int, _ height: Int) throws(PictureError) -> CGImage {
            func bitmap(_ space: CGColorSpace?) -> CGContext? {
                guard let space, space.model == .rgb else { return nil }
                return CGContext(
                    data: nil, width: width, height: height, bitsPerComponent: 8, bytesPerRow: 0, space: space,
                    bitmapInfo: CGImageAlphaInfo.noneSkipLast.rawValue)
            }
            // Spaces of more than 8 bits, for one, make no context. A large profile would be most of a small file.
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

        /// A JPEG file; ImageIO writes the profile of the colours itself.
        borrowing func jpeg(quality: Double, profileOf source: PictureFile) throws(PictureError) -> Data {
            let file = NSMutableData()
            let options: [CFString: Any] = [kCGImageDestinationLossyCompressionQuality: quality]
            guard
                let destination = CGImageDestinationCreateWithData(file, UTType.jpeg.identifier as CFString, 1, nil)
            else { throw .failed }
            CGImageDestinationAddImage(destination, image, options as CFDictionary)
            guard CGImageDestinationFinalize(destination) else { throw .failed }
            // Without the Exif that ImageIO adds.
            return try PictureFile(file as Data).cleaned()
        }
    }
#endif
