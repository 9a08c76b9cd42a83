import Foundation

/// A parser for GIF files (CompuServe, 89a).
enum GIF {
    static func header(of bytes: Bytes) throws(PictureError) -> PictureHeader {
        var header = PictureHeader(type: .gif)
        header.width = try bytes.number(at: 6, bytes: 2, littleEndian: true)
        header.height = try bytes.number(at: 8, bytes: 2, littleEndian: true)
        header.frames = 0
        do throws(PictureError) {
            try readBlocks(of: bytes, into: &header)
        } catch {
            if let error = error.unlessIncomplete { throw error }
            header.isComplete = false
        }
        guard header.frames > 0, header.width > 0, header.height > 0 else { throw .corrupt }
        return header
    }

    private static func readBlocks(of bytes: Bytes, into header: inout PictureHeader) throws(PictureError) {
        var blocks = try GIFBlocks(bytes)
        while let block = try blocks.next() {
            if block.kind == .image {
                func number(_ offset: Int) throws(PictureError) -> Int {
                    try block.whole.number(at: offset, bytes: 2, littleEndian: true)
                }
                header.frames += 1
                // Some decoders extend the canvas for a frame that exceeds it.
                header.width = max(header.width, try number(1) + number(5))
                header.height = max(header.height, try number(3) + number(7))
            }
        }
    }
}

/// The blocks of a GIF file after its header, up to the trailer; a file without a trailer throws at its end.
private struct GIFBlocks {
    enum Kind {
        case image, other, end
    }

    struct Block {
        let kind: Kind
        let whole: Bytes
    }

    private let bytes: Bytes
    private var offset: Int?

    init(_ bytes: Bytes) throws(PictureError) {
        self.bytes = bytes
        // Skip the screen descriptor and its color table.
        offset = 13 + Self.colorTable(try bytes.byte(at: 10))
    }

    mutating func next() throws(PictureError) -> Block? {
        guard let start = offset else { return nil }
        try bytes.steps.take(PictureSteps.part)
        let kind: Kind
        let end: Int
        switch try bytes.byte(at: start) {
        case 0x3B:
            (kind, end) = (.end, start + 1)
        case 0x21:
            (kind, end) = (.other, try endOfParts(from: start + 2))
        case 0x2C:
            kind = .image
            end = try endOfParts(from: start + 11 + Self.colorTable(try bytes.byte(at: start + 9)))
        default: throw .corrupt
        }
        offset = kind == .end ? nil : end
        return Block(kind: kind, whole: try bytes.part(from: start, to: end))
    }

    /// Returns the length of the color table that the flags declare.
    private static func colorTable(_ flags: Int) -> Int {
        flags & 0x80 == 0 ? 0 : 3 << (flags & 7 + 1)
    }

    private func endOfParts(from start: Int) throws(PictureError) -> Int {
        var offset = start
        while true {
            try bytes.steps.take()
            let length = try bytes.byte(at: offset)
            offset += 1 + length
            if length == 0 { return offset }
        }
    }
}
