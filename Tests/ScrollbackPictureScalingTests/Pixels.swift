#if os(Linux)
    import CGD
    import Foundation
    import Testing

    /// The pixels of a picture file as libgd decodes them, without applying the orientation.
    struct Pixels: Equatable {
        let width: Int
        let height: Int
        /// Red, green, blue and transparency of each pixel. Transparency ranges from 0 (opaque) to 127.
        private let values: [Int32]

        init?(_ file: Data) {
            let image = file.withUnsafeBytes { bytes -> gdImagePtr? in
                let (data, size) = (UnsafeMutableRawPointer(mutating: bytes.baseAddress), Int32(bytes.count))
                return switch bytes.first {
                case 0xFF: gdImageCreateFromJpegPtrEx(size, data, 0)
                case 0x89: gdImageCreateFromPngPtr(size, data)
                case 0x47: gdImageCreateFromGifPtr(size, data)
                default: gdImageCreateFromWebpPtr(size, data)
                }
            }
            guard let image else { return nil }
            defer { gdImageDestroy(image) }
            let (width, height) = (image.pointee.sx, image.pointee.sy)
            self.width = Int(width)
            self.height = Int(height)
            values = (0..<height).flatMap { y in (0..<width).map { x in gdImageGetTrueColorPixel(image, x, y) } }
        }

        subscript(x: Int, y: Int) -> Colour {
            let value = Int(values[y * width + x])
            return Colour(value >> 16 & 255, value >> 8 & 255, value & 255)
        }

        /// The colors at the centers of the four quarters: top left, top right, bottom left, bottom right.
        var quarters: [Colour] {
            [(1, 1), (3, 1), (1, 3), (3, 3)].map { self[width * $0 / 4, height * $1 / 4] }
        }
    }

    struct Colour: Equatable, CustomStringConvertible {
        let channels: [Int]

        init(_ red: Int, _ green: Int, _ blue: Int) {
            channels = [red, green, blue]
        }

        var description: String { "\(channels)" }

        /// Returns the color that results from blending this color with a white background.
        func onWhite(opacity: Double) -> Colour {
            let mixed = channels.map { Int((Double($0) * opacity + 255 * (1 - opacity)).rounded()) }
            return Colour(mixed[0], mixed[1], mixed[2])
        }

        /// Returns the largest difference between two channels.
        func distance(to other: Colour) -> Int {
            zip(channels, other.channels).map { abs($0 - $1) }.max() ?? 0
        }

        static let red = Colour(220, 30, 30)
        static let green = Colour(30, 180, 40)
        static let blue = Colour(30, 40, 210)
        static let yellow = Colour(240, 220, 40)
        static let white = Colour(255, 255, 255)
        /// The colors of the four quarters in most fixtures.
        static let quarters = [red, green, blue, yellow]
    }

    func expectQuarters(
        _ file: Data, _ expected: [Colour] = Colour.quarters, within tolerance: Int = 6, _ name: String = ""
    ) throws {
        let quarters = try #require(Pixels(file)).quarters
        for (quarter, expected) in zip(quarters, expected) {
            #expect(quarter.distance(to: expected) <= tolerance, "\(name): \(quarter), not \(expected)")
        }
    }
#endif
