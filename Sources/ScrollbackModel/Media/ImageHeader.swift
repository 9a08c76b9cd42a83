package import Foundation

/// What a picture says of itself before anything of it is decoded.
package struct ImageHeader: Hashable, Sendable {
    /// The pixels as they are stored.
    package var stored: Media.Size
    /// How they are to be turned to be looked at: 1...8 (Exif 2.32, tag 0x0112).
    package var orientation = 1
    /// Whether there is more than one picture.
    package var isAnimated = false

    /// The pixels as they are to be looked at.
    package var upright: Media.Size {
        orientation < 5 ? stored : Media.Size(width: stored.height, height: stored.width)
    }

    /// The most pixels a picture may have: what it decodes to has four bytes for each.
    package static let mostPixels = 50_000_000

    /// Whether decoding it is out of the question.
    package var isTooLarge: Bool {
        stored.width.multipliedReportingOverflow(by: stored.height).partialValue > Self.mostPixels
    }

    init(_ width: Int, _ height: Int) {
        stored = Media.Size(width: width, height: height)
    }

    /// Reads the header of a JPEG, PNG, GIF, WebP or BMP file; nil for others, and for what is none of these after all.
    ///
    /// - Parameter file: the whole file, or so much of its beginning as there is.
    package init?(_ file: Data) {
        let bytes = FileBytes(file)
        let type = FileType(of: file.prefix(FileType.prefixLength)).mediaType
        let header: ImageHeader? =
            switch type {
            case "image/jpeg": .jpeg(bytes)
            case "image/png": .png(bytes)
            case "image/gif": .gif(bytes)
            case "image/webp": .webp(bytes)
            case "image/bmp": .bmp(bytes)
            default: nil
            }
        guard let header, header.stored.width > 0, header.stored.height > 0 else { return nil }
        self = header
    }
}

/// A file's bytes by their places; what lies beyond its end is not there.
struct FileBytes {
    private let data: Data

    init(_ data: Data) {
        self.data = data
    }

    var count: Int { data.count }

    subscript(place: Int) -> Int? {
        place >= 0 && place < data.count ? Int(data[data.startIndex + place]) : nil
    }

    /// An unsigned number of some bytes.
    func number(at place: Int, _ length: Int, littleEndian: Bool = false) -> Int? {
        guard place >= 0, place <= data.count - length else { return nil }
        var number = 0
        for index in 0..<length {
            let byte = Int(data[data.startIndex + place + (littleEndian ? length - 1 - index : index)])
            number = number << 8 | byte
        }
        return number
    }

    func has(_ text: String, at place: Int) -> Bool {
        guard place >= 0, place <= data.count - text.utf8.count else { return false }
        return data[(data.startIndex + place)...].starts(with: text.utf8)
    }
}

extension ImageHeader {
    /// Segments up to the first frame (ITU-T T.81, annex B).
    fileprivate static func jpeg(_ file: FileBytes) -> ImageHeader? {
        var orientation = 1
        var place = 2
        while let marker = file.number(at: place, 2), marker > 0xFF00 {
            // Fill bytes.
            if marker == 0xFFFF { place += 1; continue }
            if marker == 0xFFD9 || marker == 0xFFDA { return nil }
            guard let length = file.number(at: place + 2, 2), length >= 2 else { return nil }
            if (0xFFC0...0xFFCF).contains(marker), ![0xFFC4, 0xFFC8, 0xFFCC].contains(marker) {
                guard let height = file.number(at: place + 5, 2), let width = file.number(at: place + 7, 2) else {
                    return nil
                }
                var header = ImageHeader(width, height)
                header.orientation = orientation
                return header
            }
            if marker == 0xFFE1, file.has("Exif\0\0", at: place + 4) {
                orientation = exifOrientation(file, at: place + 10) ?? orientation
            }
            place += 2 + length
        }
        return nil
    }

    /// Chunks up to the first of pixels (PNG, third edition).
    fileprivate static func png(_ file: FileBytes) -> ImageHeader? {
        guard file.has("IHDR", at: 12), let width = file.number(at: 16, 4), let height = file.number(at: 20, 4) else {
            return nil
        }
        var header = ImageHeader(width, height)
        var place = 8
        while let length = file.number(at: place, 4), !file.has("IDAT", at: place + 4), !file.has("IEND", at: place + 4)
        {
            if file.has("acTL", at: place + 4) { header.isAnimated = true }
            if file.has("eXIf", at: place + 4) {
                header.orientation = exifOrientation(file, at: place + 8) ?? header.orientation
            }
            place += 12 + length
        }
        return header
    }

    /// The logical screen, and whether a second picture follows (GIF89a).
    fileprivate static func gif(_ file: FileBytes) -> ImageHeader? {
        guard let width = file.number(at: 6, 2, littleEndian: true),
            let height = file.number(at: 8, 2, littleEndian: true), let flags = file[10]
        else { return nil }
        var header = ImageHeader(width, height)
        func table(_ flags: Int) -> Int { flags & 0x80 == 0 ? 0 : 3 << ((flags & 7) + 1) }
        /// Behind blocks that say how long they are, and end with one of no length.
        func end(ofBlocksAt start: Int) -> Int? {
            var place = start
            while let length = file[place] {
                place += 1 + length
                if length == 0 { return place }
            }
            return nil
        }
        var place = 13 + table(flags)
        var pictures = 0
        while let introducer = file[place], introducer != 0x3B {
            let blocks: Int
            switch introducer {
            case 0x21: blocks = place + 2
            case 0x2C:
                pictures += 1
                guard pictures < 2, let flags = file[place + 9] else {
                    header.isAnimated = pictures > 1
                    return header
                }
                blocks = place + 11 + table(flags)
            default: return header
            }
            guard let next = end(ofBlocksAt: blocks) else { return header }
            place = next
        }
        return header
    }

    /// The first chunk (WebP container specification).
    fileprivate static func webp(_ file: FileBytes) -> ImageHeader? {
        if file.has("VP8X", at: 12) {
            guard let flags = file[20], let width = file.number(at: 24, 3, littleEndian: true),
                let height = file.number(at: 27, 3, littleEndian: true)
            else { return nil }
            var header = ImageHeader(width + 1, height + 1)
            header.isAnimated = flags & 0x02 != 0
            if flags & 0x08 != 0 { header.orientation = webpOrientation(file) ?? 1 }
            return header
        }
        if file.has("VP8L", at: 12) {
            guard let bits = file.number(at: 21, 4, littleEndian: true) else { return nil }
            return ImageHeader((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        }
        guard file.has("VP8 ", at: 12), let width = file.number(at: 26, 2, littleEndian: true),
            let height = file.number(at: 28, 2, littleEndian: true)
        else { return nil }
        return ImageHeader(width & 0x3FFF, height & 0x3FFF)
    }

    private static func webpOrientation(_ file: FileBytes) -> Int? {
        var place = 12
        while let length = file.number(at: place + 4, 4, littleEndian: true) {
            if file.has("EXIF", at: place) {
                // Some writers put JPEG's introduction before it.
                return exifOrientation(file, at: place + (file.has("Exif\0\0", at: place + 8) ? 14 : 8))
            }
            place += 8 + length + length & 1
        }
        return nil
    }

    fileprivate static func bmp(_ file: FileBytes) -> ImageHeader? {
        guard let width = file.number(at: 18, 4, littleEndian: true),
            let height = file.number(at: 22, 4, littleEndian: true)
        else { return nil }
        // Rows from the top have a negative height.
        return ImageHeader(width, height > Int(Int32.max) ? (1 << 32) - height : height)
    }

    /// The orientation of the first directory of a TIFF structure (Exif 2.32, 4.6).
    static func exifOrientation(_ file: FileBytes, at start: Int) -> Int? {
        let isLittle = file.has("II", at: start)
        guard isLittle || file.has("MM", at: start),
            let directory = file.number(at: start + 4, 4, littleEndian: isLittle),
            let entries = file.number(at: start + directory, 2, littleEndian: isLittle)
        else { return nil }
        for entry in 0..<min(entries, 512) {
            let place = start + directory + 2 + 12 * entry
            guard file.number(at: place, 2, littleEndian: isLittle) == 0x0112 else { continue }
            return file.number(at: place + 8, 2, littleEndian: isLittle).flatMap { (1...8).contains($0) ? $0 : nil }
        }
        return nil
    }
}
