package import Foundation

/// Crafted files that consist of the smallest possible parts.
package enum PictureBomb: CaseIterable, Sendable {
    case heifBoxes, heifProperties, jpegSegments, jpegData, pngChunks, gifBlocks, gifPieces, webPChunks

    /// Returns a file of about `bytes` bytes.
    package func file(bytes: Int) -> Data {
        func filled(_ start: Data, _ part: [UInt8]) -> Data {
            var file = start
            for _ in 0..<max(0, bytes - start.count) / part.count { file.append(contentsOf: part) }
            return file
        }
        switch self {
        case .heifBoxes: return filled(Self.heif, Array(Self.box("free", Data())))
        case .heifProperties:
            // Three bytes for each item without properties.
            let count = bytes / 3
            let number = withUnsafeBytes(of: UInt32(count).bigEndian) { Data($0) }
            let associations = Self.box("ipma", Data(count: 4) + number + Data(count: 3 * count))
            let meta = [
                Data(count: 4), Self.box("pitm", Data(count: 6)), Self.box("iinf", Data(count: 6)),
                Self.box("iloc", Data(count: 8)), Self.box("iprp", Self.box("ipco", Data()) + associations),
            ]
            return Self.heif + Self.box("meta", Data(meta.joined()))
        case .jpegSegments: return filled(Data([0xFF, 0xD8]), [0xFF, 0xFE, 0, 2])
        case .jpegData:
            let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0]
            return filled(Data([0xFF, 0xD8] + frame + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]), [0xFF, 0])
        case .pngChunks:
            return filled(Data(SampleFile.png(1, 1).prefix(33)), [0, 0, 0, 0] + Array("tEXt".utf8) + [0, 0, 0, 0])
        case .gifBlocks: return filled(Data(SampleFile.gif().prefix(19)), [0x21, 0xFE, 0])
        case .gifPieces: return filled(Data(SampleFile.gif().prefix(19)) + [0x21, 0xFE], [1, 0x20])
        case .webPChunks:
            let canvas: [UInt8] = Array("VP8X".utf8) + [10, 0, 0, 0] + [UInt8](repeating: 0, count: 10)
            let count = (bytes - 30) / 8
            let length = withUnsafeBytes(of: UInt32(22 + 8 * count).littleEndian) { Array($0) }
            let start = Data(Array("RIFF".utf8) + length + Array("WEBP".utf8) + canvas)
            return filled(start, Array("EXIF".utf8) + [0, 0, 0, 0])
        }
    }

    private static var heif: Data { box("ftyp", Data("heic".utf8) + Data(count: 4) + Data("mif1".utf8)) }

    private static func box(_ name: String, _ body: Data) -> Data {
        withUnsafeBytes(of: UInt32(body.count + 8).bigEndian) { Data($0) } + Data(name.utf8) + body
    }
}
