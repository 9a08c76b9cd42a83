#if os(Linux)
    import CGD
    import Foundation
    import ScrollbackPictures

    /// The pixels of an image: a true-color libgd image without transparency.
    ///
    /// libgd images are independent of each other, so any thread can use its own.
    struct Raster: ~Copyable {
        private let image: gdImagePtr

        private init(owning image: gdImagePtr) {
            self.image = image
        }

        /// Creates a white image.
        private init(_ width: Int, _ height: Int) throws(PictureError) {
            guard let width = Int32(exactly: width), let height = Int32(exactly: height),
                let image = gdImageCreateTrueColor(width, height)
            else { throw .failed }
            gdImageFilledRectangle(image, 0, 0, width - 1, height - 1, 0xFF_FFFF)
            self.init(owning: image)
        }

        deinit { gdImageDestroy(image) }

        var width: Int { Int(image.pointee.sx) }
        var height: Int { Int(image.pointee.sy) }

        /// Returns whether the type can be decoded; libgd 2.3.3 distorts HEIC and does not rotate AVIF.
        static func decodes(_ type: PictureType) -> Bool {
            [.jpeg, .png, .webp].contains(type)
        }

        /// Decodes a file whose header was checked, scales it down, and applies its orientation.
        init(_ file: PictureFile, longestSide: Int) throws(PictureError) {
            let small = try Self.decoded(file).scaled(longestSide: longestSide)
            self = try file.header.orientation == 1 ? small : small.oriented(file.header.orientation)
        }

        private static func decoded(_ file: PictureFile) throws(PictureError) -> Raster {
            guard let size = Int32(exactly: file.data.count) else { throw .failed }
            GDErrorFlag.clear()
            let image = file.data.withUnsafeBytes { bytes -> gdImagePtr? in
                // libgd only reads the data.
                let data = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                return switch file.header.type {
                // 0: report missing data. libgd still returns an image, with gray instead of the missing part.
                case .jpeg: gdImageCreateFromJpegPtrEx(size, data, 0)
                case .png: gdImageCreateFromPngPtr(size, data)
                case .webp: gdImageCreateFromWebpPtr(size, data)
                default: nil
                }
            }
            guard let image else { throw .corrupt }
            let raster = Raster(owning: image)
            guard !GDErrorFlag.isSet, raster.width == file.header.width, raster.height == file.header.height else {
                throw .corrupt
            }
            return try raster.hasColorKey ? raster.flattened() : raster
        }

        /// Whether the image has a transparent color, as a PNG may have.
        private var hasColorKey: Bool { image.pointee.trueColor != 0 && image.pointee.transparent >= 0 }

        /// Draws the image on white; only this libgd function respects a transparent color.
        private borrowing func flattened() throws(PictureError) -> Raster {
            let flat = try Raster(width, height)
            gdImageCopy(flat.image, image, 0, 0, 0, 0, image.pointee.sx, image.pointee.sy)
            return flat
        }

        /// Scales the image down by averaging the covered pixels, weighted by their opacity.
        borrowing func scaled(longestSide: Int) throws(PictureError) -> Raster {
            let target = TargetSize(width, height, longestSide: longestSide)
            let small = try Raster(target.width, target.height)
            gdImageCopyResampled(
                small.image, image, 0, 0, 0, 0, small.image.pointee.sx, small.image.pointee.sy, image.pointee.sx,
                image.pointee.sy)
            return small
        }

        /// Returns the image with the Exif orientation applied.
        private borrowing func oriented(_ orientation: Int) throws(PictureError) -> Raster {
            let upright = try orientation > 4 ? Raster(height, width) : Raster(width, height)
            let (right, bottom) = (width - 1, height - 1)
            for y in 0..<upright.height {
                guard let row = upright.image.pointee.tpixels[y] else { throw .failed }
                for x in 0..<upright.width {
                    let (sourceX, sourceY) =
                        switch orientation {
                        case 2: (right - x, y)
                        case 3: (right - x, bottom - y)
                        case 4: (x, bottom - y)
                        case 5: (y, x)
                        case 6: (y, bottom - x)
                        case 7: (right - y, bottom - x)
                        case 8: (right - y, x)
                        default: (x, y)
                        }
                    guard let source = image.pointee.tpixels[sourceY] else { throw .failed }
                    row[x] = source[sourceX]
                }
            }
            return upright
        }

        /// Encodes the image as JPEG with the source's color profile; libgd keeps color values but not profiles.
        borrowing func jpeg(quality: Double, profileOf source: PictureFile) throws(PictureError) -> Data {
            var size: Int32 = 0
            guard let bytes = gdImageJpegPtr(image, &size, max(1, Int32((quality * 100).rounded()))) else {
                throw .failed
            }
            defer { gdFree(bytes) }
            // Removes libgd's comment.
            let cleaned = try PictureFile(Data(bytes: bytes, count: Int(size))).cleaned()
            return cleaned.jpeg(with: source.header.profile)
        }
    }
#endif
