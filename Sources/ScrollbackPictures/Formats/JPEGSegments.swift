/// The segments of a JPEG file from the start marker to the end marker.
///
/// A scan segment includes the compressed data that follows it. In a complete file, the last segment has the marker
/// `0xD9`.
struct JPEGSegments {
    struct Segment {
        let marker: Int
        /// The segment with its marker and length.
        let whole: Bytes
        /// The segment without its marker and length.
        let body: Bytes

        var isJFIF: Bool { marker == 0xE0 && body.matches("JFIF\0".utf8) && body.count >= 14 }
        var isProfile: Bool { marker == 0xE2 && body.matches("ICC_PROFILE\0".utf8) }
        var isAdobe: Bool { marker == 0xEE && body.matches("Adobe".utf8) }
    }

    private let bytes: Bytes
    private var offset: Int? = 2

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    mutating func next() throws(PictureError) -> Segment? {
        try bytes.steps.take(PictureSteps.part)
        guard let start = try nextMarkerOffset() else {
            offset = nil
            return nil
        }
        let marker = try bytes.byte(at: start + 1)
        if marker == 0xD9 {
            offset = nil
            return Segment(
                marker: marker, whole: try bytes.part(at: start, count: 2),
                body: try bytes.part(at: start + 2, count: 0))
        }
        guard marker != 0x01, !(0xD0...0xD8).contains(marker) else { throw .corrupt }
        let length = try bytes.number(at: start + 2, bytes: 2)
        guard length >= 2, bytes.hasBytes(2 + length, at: start) else { throw .corrupt }
        var end = start + 2 + length
        if marker == 0xDA { end = try endOfScan(from: end) }
        offset = end
        return Segment(
            marker: marker, whole: try bytes.part(from: start, to: end), body: try bytes.part(from: start + 4, to: end))
    }

    /// Returns the offset of the next marker, skipping fill bytes and stray bytes as decoders do.
    private func nextMarkerOffset() throws(PictureError) -> Int? {
        var from = offset
        while let offset = from.flatMap({ bytes.offset(of: 0xFF, from: $0) }) {
            guard bytes.hasBytes(2, at: offset) else { return nil }
            try bytes.steps.take()
            switch try bytes.byte(at: offset + 1) {
            case 0xFF: from = offset + 1
            case 0x00: from = offset + 2
            default: return offset
            }
        }
        return nil
    }

    /// Returns the offset of the first marker after the compressed data, or the end of the file.
    private func endOfScan(from start: Int) throws(PictureError) -> Int {
        var from = start
        while let offset = bytes.offset(of: 0xFF, from: from), bytes.hasBytes(2, at: offset) {
            try bytes.steps.take()
            switch try bytes.byte(at: offset + 1) {
            case 0xFF: from = offset + 1
            case 0x00, 0xD0...0xD7: from = offset + 2
            default: return offset
            }
        }
        return bytes.count
    }
}
