import Foundation

/// Reads and writes the orientation of Exif blocks and nothing else (Exif 2.32, TIFF 6.0).
enum Exif {
    /// Returns the orientation, or 1 for an invalid block, so that a bad block never makes an image unreadable.
    static func orientation(in block: Bytes) -> Int {
        (try? firstOrientation(in: block)) ?? 1
    }

    private static func firstOrientation(in block: Bytes) throws(PictureError) -> Int {
        let tiff = block.matches("Exif\0\0".utf8) ? try block.part(from: 6) : block
        let littleEndian = tiff.matches("II*\0".utf8)
        guard littleEndian || tiff.matches("MM\0*".utf8) else { throw .corrupt }
        func number(_ offset: Int, _ bytes: Int) throws(PictureError) -> Int {
            try tiff.number(at: offset, bytes: bytes, littleEndian: littleEndian)
        }
        // Reads only the first directory, and a bounded number of entries, so loops are impossible.
        let directory = try number(4, 4)
        guard tiff.hasBytes(2, at: directory) else { throw .corrupt }
        for index in 0..<min(try number(directory, 2), 512) {
            let entry = directory + 2 + 12 * index
            guard try number(entry, 2) == 0x0112 else { continue }
            let kind = try number(entry + 2, 2)
            guard try number(entry + 4, 4) == 1, kind == 3 || kind == 4 else { throw .corrupt }
            let value = try number(entry + 8, kind == 3 ? 2 : 4)
            guard (1...8).contains(value) else { throw .corrupt }
            return value
        }
        return 1
    }

    /// Returns a 26-byte block that contains only an orientation.
    static func block(orientation: Int) -> Data {
        var block = Data("MM\0*".utf8)
        block.append(8, bytes: 4)
        block.append(1, bytes: 2)
        block.append(0x0112, bytes: 2)
        block.append(3, bytes: 2)
        block.append(1, bytes: 4)
        block.append(UInt32(orientation) << 16, bytes: 4)
        block.append(0, bytes: 4)
        return block
    }
}
