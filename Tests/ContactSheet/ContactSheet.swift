#if os(Linux)
    import CGD
    import Foundation
    import PictureFixtures
    import ScrollbackPictureScaling

    /// Draws the thumbnails of all fixtures that can be scaled, with their names, into one picture.
    ///
    /// Usage: `swift run contact-sheet FILE.png` (or `.jpg`).
    @main
    struct ContactSheet {
        private static let columns = 8
        private static let cell = (width: 250, height: 206)

        static func main() throws {
            guard CommandLine.arguments.count == 2 else {
                print("usage: contact-sheet FILE.png")
                exit(64)
            }
            let path = CommandLine.arguments[1]
            let thumbnails = PictureFixture.good.compactMap { fixture in
                (try? PictureScaler().messagePictures(fixture.data)).map { (fixture.name, $0.thumbnail) }
            }
            let rows = (thumbnails.count + columns - 1) / columns
            guard let sheet = gdImageCreateTrueColor(Int32(columns * cell.width), Int32(rows * cell.height)) else {
                fatalError("Out of memory: libgd can't create the contact sheet.")
            }
            defer { gdImageDestroy(sheet) }
            gdImageFilledRectangle(sheet, 0, 0, sheet.pointee.sx, sheet.pointee.sy, 0x3A_3D42)
            for (index, (name, thumbnail)) in thumbnails.enumerated() {
                let place = (x: index % columns * cell.width, y: index / columns * cell.height)
                // libgd ignores color profiles.
                let label = name == "swapped-profile.jpg" ? "swapped-profile.jpg, without its profile" : name
                draw(thumbnail, label, on: sheet, place.x, place.y)
            }
            try write(sheet, to: URL(filePath: path), asJPEG: path.hasSuffix(".jpg"))
            print("\(thumbnails.count) thumbnails in \(path)")
        }

        /// Draws a thumbnail centered in its cell, with its name below.
        ///
        /// Small thumbnails are enlarged so that their pixels are visible.
        private static func draw(_ thumbnail: ScaledPicture, _ name: String, on sheet: gdImagePtr, _ x: Int, _ y: Int) {
            let image = thumbnail.jpeg.withUnsafeBytes {
                gdImageCreateFromJpegPtr(Int32($0.count), UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
            guard let image else { return }
            defer { gdImageDestroy(image) }
            let times = max(1, min(240 / thumbnail.width, 180 / thumbnail.height))
            let (width, height) = (thumbnail.width * times, thumbnail.height * times)
            gdImageCopyResized(
                sheet, image, Int32(x + (cell.width - width) / 2), Int32(y + 4 + (180 - height) / 2), 0, 0,
                Int32(width),
                Int32(height), image.pointee.sx, image.pointee.sy)
            var text = Array(name.utf8)
            text.append(0)
            let font = gdFontGetSmall()
            let left = (cell.width - name.utf8.count * 6) / 2
            gdImageString(sheet, font, Int32(x + left), Int32(y + 187), &text, 0xFF_FFFF)
        }

        private static func write(_ sheet: gdImagePtr, to file: URL, asJPEG: Bool) throws {
            var size: Int32 = 0
            let bytes = asJPEG ? gdImageJpegPtr(sheet, &size, 80) : gdImagePngPtrEx(sheet, &size, 9)
            guard let bytes else { fatalError("Out of memory: libgd can't encode the contact sheet.") }
            defer { gdFree(bytes) }
            try Data(bytes: bytes, count: Int(size)).write(to: file)
        }
    }
#else
    @main
    struct ContactSheet {
        static func main() {
            print("contact-sheet requires libgd and runs only on Linux.")
        }
    }
#endif
