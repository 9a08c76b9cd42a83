import Foundation

/// A parser for WebP files (RFC 9649).
enum WebP {
    static func header(of bytes: Bytes) throws(PictureError) -> PictureHeader {
        var header = PictureHeader(type: .webp)
        let isExtended = try bytes.code(at: 12) == "VP8X"
        let body = try bytes.part(from: 20)
        if isExtended {
            header.width = try body.number(at: 4, bytes: 3, littleEndian: true) + 1
            header.height = try body.number(at: 7, bytes: 3, littleEndian: true) + 1
        } else {
            let picture = try picture(try bytes.code(at: 12), body)
            (header.width, header.height) = (picture.width, picture.height)
        }
        guard header.width > 0, header.height > 0 else { throw .corrupt }
        do throws(PictureError) {
            try readChunks(of: bytes, isExtended: isExtended, into: &header)
        } catch {
            if let error = error.unlessIncomplete { throw error }
            header.isComplete = false
        }
        return header
    }

    private static func readChunks(
        of bytes: Bytes, isExtended: Bool, into header: inout PictureHeader
    ) throws(PictureError) {
        var frames = 0
        var hasImage = false
        // Read only the first orientation and profile.
        var acceptsOrientation = isExtended
        var acceptsProfile = isExtended
        var chunks = try WebPChunks(bytes)
        while let chunk = try chunks.next() {
            switch chunk.name {
            case "ANMF": frames += 1
            case "EXIF":
                if acceptsOrientation { header.orientation = Exif.orientation(in: chunk.body) }
                acceptsOrientation = false
            case "ICCP":
                if acceptsProfile, chunk.body.count <= ColorProfile.maximumBytes { header.profile = chunk.body.copy }
                acceptsProfile = false
            case "VP8 ", "VP8L":
                // A still image fills its canvas.
                let picture = try picture(chunk.name, chunk.body)
                guard picture.width == header.width, picture.height == header.height else { throw .corrupt }
                hasImage = true
            default: break
            }
        }
        header.frames = max(1, frames)
        guard hasImage || frames > 0 else { throw .corrupt }
    }

    /// Reads the size from the compressed image (RFC 6386, 9.1; RFC 9649, 3.4).
    private static func picture(
        _ name: Code, _ body: Bytes
    ) throws(PictureError) -> (width: Int, height: Int) {
        switch name {
        case "VP8 ":
            guard body.matches([0x9D, 0x01, 0x2A], at: 3) else { throw .corrupt }
            let width = try body.number(at: 6, bytes: 2, littleEndian: true) & 0x3FFF
            return (width, try body.number(at: 8, bytes: 2, littleEndian: true) & 0x3FFF)
        case "VP8L":
            guard try body.byte(at: 0) == 0x2F else { throw .corrupt }
            let width = try body.number(at: 1, bytes: 2, littleEndian: true)
            let rest = try body.number(at: 2, bytes: 3, littleEndian: true)
            return (width & 0x3FFF + 1, rest >> 6 & 0x3FFF + 1)
        default: throw .corrupt
        }
    }

    /// Returns the file with the chunks that pixels, colors and animation need, and updated flags and length.
    static func cleaned(_ bytes: Bytes, _ header: PictureHeader) throws(PictureError) -> Data {
        var file = Data("RIFF\0\0\0\0WEBP".utf8)
        var isExtended = false
        var chunks = try WebPChunks(bytes)
        while let chunk = try chunks.next() {
            switch chunk.name {
            case "VP8X":
                guard !isExtended else { throw .corrupt }
                isExtended = true
                // Bit 2: XMP, bit 3: Exif.
                let flags = UInt8(try chunk.body.byte(at: 0)) & ~0x0C | (header.orientation == 1 ? 0 : 0x08)
                let rest = try chunk.body.part(at: 1, count: 9).copy
                append(chunk.name, Bytes(Data([flags]) + rest), to: &file)
            case "VP8 ", "VP8L", "ALPH", "ANIM", "ANMF", "ICCP": append(chunk.name, chunk.body, to: &file)
            default: break
            }
        }
        if header.orientation != 1 {
            append("EXIF", Bytes(Exif.block(orientation: header.orientation)), to: &file)
        }
        var length = Data()
        length.append(UInt32(file.count - 8), bytes: 4, littleEndian: true)
        file.replaceSubrange(4..<8, with: length)
        return file
    }

    private static func append(_ name: Code, _ body: Bytes, to file: inout Data) {
        file.append(name)
        file.append(UInt32(body.count), bytes: 4, littleEndian: true)
        body.write(to: &file)
        if body.count % 2 == 1 { file.append(0) }
    }
}

/// The chunks of a WebP file, up to its declared length; a shorter file throws.
private struct WebPChunks {
    struct Chunk {
        let name: Code
        let body: Bytes
    }

    private let bytes: Bytes
    private var offset = 12

    init(_ bytes: Bytes) throws(PictureError) {
        let length = try bytes.number(at: 4, bytes: 4, littleEndian: true)
        self.bytes = try bytes.part(from: 0, to: 8 + length)
    }

    mutating func next() throws(PictureError) -> Chunk? {
        guard bytes.hasBytes(8, at: offset) else { return nil }
        try bytes.steps.take(PictureSteps.part)
        let length = try bytes.number(at: offset + 4, bytes: 4, littleEndian: true)
        let chunk = Chunk(name: try bytes.code(at: offset), body: try bytes.part(at: offset + 8, count: length))
        offset += 8 + length + length % 2
        return chunk
    }
}
