import Foundation

/// A parser for PNG files (W3C, third edition).
enum PNG {
    static func header(of bytes: Bytes) throws(PictureError) -> PictureHeader {
        guard try bytes.number(at: 8, bytes: 4) == 13, try bytes.code(at: 12) == "IHDR" else { throw .corrupt }
        var header = PictureHeader(type: .png)
        header.width = try bytes.number(at: 16, bytes: 4)
        header.height = try bytes.number(at: 20, bytes: 4)
        let sizes = 1...Int(Int32.max)
        guard sizes.contains(header.width), sizes.contains(header.height) else { throw .corrupt }
        do throws(PictureError) {
            try readChunks(of: bytes, into: &header)
        } catch {
            if let error = error.unlessIncomplete { throw error }
            header.isComplete = false
        }
        return header
    }

    private static func readChunks(of bytes: Bytes, into header: inout PictureHeader) throws(PictureError) {
        // Read only the first orientation and profile, and a profile only before the pixels.
        var acceptsOrientation = true
        var acceptsProfile = true
        var isBeforePixels = true
        var chunks = PNGChunks(bytes)
        while let chunk = try chunks.next() {
            switch chunk.name {
            case "IDAT": isBeforePixels = false
            case "eXIf":
                if acceptsOrientation { header.orientation = Exif.orientation(in: chunk.body) }
                acceptsOrientation = false
            case "acTL": if isBeforePixels { header.frames = max(1, try chunk.body.number(at: 0, bytes: 4)) }
            case "iCCP":
                if acceptsProfile, isBeforePixels { header.profile = (try? profile(in: chunk.body)) ?? Data() }
                acceptsProfile = false
            default: break
            }
        }
    }

    /// Reads the profile of an `iCCP` chunk: a name, the compression method, the profile.
    private static func profile(in body: Bytes) throws(PictureError) -> Data {
        guard let end = body.offset(of: 0, from: 0), end < 80 else { throw .corrupt }
        return try Zlib.inflate(try body.part(from: end + 2), atMost: ColorProfile.maximumBytes)
    }

    /// The chunks that pixels, colors and animation need.
    private static let kept: Set<Code> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "sRGB", "gAMA", "cHRM", "cICP", "mDCV", "cLLI", "sBIT", "bKGD", "hIST",
        "pHYs", "acTL", "fcTL", "fdAT",
    ]

    static func cleaned(_ bytes: Bytes, _ header: PictureHeader) throws(PictureError) -> Data {
        var file = Data()
        try bytes.part(at: 0, count: 8).write(to: &file)
        var needsOrientation = header.orientation != 1
        var needsProfile = !header.profile.isEmpty
        var chunks = PNGChunks(bytes)
        while let chunk = try chunks.next() {
            let isProfile = chunk.name == "iCCP" && needsProfile
            if isProfile { needsProfile = false }
            if kept.contains(chunk.name) || isProfile { chunk.whole.write(to: &file) }
            if chunk.name == "IHDR", needsOrientation {
                file.append(exif(orientation: header.orientation))
                needsOrientation = false
            }
        }
        return file
    }

    private static func exif(orientation: Int) -> Data {
        let block = Exif.block(orientation: orientation)
        var checked = Data("eXIf".utf8)
        checked.append(block)
        var chunk = Data()
        chunk.append(UInt32(block.count), bytes: 4)
        chunk.append(checked)
        chunk.append(Zlib.checksum(of: checked), bytes: 4)
        return chunk
    }
}

/// The chunks of a PNG file, up to the end chunk; a file without one throws at its end.
private struct PNGChunks {
    struct Chunk {
        let name: Code
        /// The chunk with its length, name and checksum.
        let whole: Bytes
        let body: Bytes
    }

    private let bytes: Bytes
    private var offset: Int? = 8

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    mutating func next() throws(PictureError) -> Chunk? {
        guard let start = offset else { return nil }
        try bytes.steps.take(PictureSteps.part)
        let length = try bytes.number(at: start, bytes: 4)
        let body = try bytes.part(at: start + 8, count: length)
        let end = start + 8 + length
        guard bytes.hasBytes(4, at: end) else { throw .corrupt }
        let name = try bytes.code(at: start + 4)
        offset = name == "IEND" ? nil : end + 4
        return Chunk(name: name, whole: try bytes.part(from: start, to: end + 4), body: body)
    }
}
