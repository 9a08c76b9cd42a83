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

        var isJFIF: Bool { marker == 0xE0 && body.has("JFIF\0".utf8) && body.count >= 14 }
        var isProfile: Bool { marker == 0xE2 && body.has("ICC_PROFILE\0".utf8) }
        var isAdobe: Bool { marker == 0xEE && body.has("Adobe".utf8) }
    }

    private let bytes: Bytes
    private var place: Int? = 2

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    mutating func next() throws(PictureError) -> Segment? {
        guard let start = try markerPlace() else {
            place = nil
            return nil
        }
        let marker = try bytes.byte(at: start + 1)
        if marker == 0xD9 {
            place = nil
            return Segment(
                marker: marker, whole: try bytes.part(at: start, count: 2),
                body: try bytes.part(at: start + 2, count: 0))
        }
        guard marker != 0x01, !(0xD0...0xD8).contains(marker) else { throw .corrupt }
        let length = try bytes.number(at: start + 2, bytes: 2)
        guard length >= 2, bytes.hold(2 + length, at: start) else { throw .corrupt }
        var end = start + 2 + length
        if marker == 0xDA { end = try endOfScan(from: end) }
        place = end
        return Segment(
            marker: marker, whole: try bytes.part(from: start, to: end), body: try bytes.part(from: start + 4, to: end))
    }

    /// Returns the offset of the next marker, skipping fill bytes and stray bytes as decoders do.
    private func markerPlace() throws(PictureError) -> Int? {
        var from = place
        while let place = from.flatMap({ bytes.place(of: 0xFF, from: $0) }) {
            guard bytes.hold(2, at: place) else { return nil }
            switch try bytes.byte(at: place + 1) {
            case 0xFF: from = place + 1
            case 0x00: from = place + 2
            default: return place
            }
        }
        return nil
    }

    /// Returns the offset of the first marker after the compressed data, or the end of the file.
    private func endOfScan(from start: Int) throws(PictureError) -> Int {
        var from = start
        while let place = bytes.place(of: 0xFF, from: from), bytes.hold(2, at: place) {
            switch try bytes.byte(at: place + 1) {
            case 0xFF: from = place + 1
            case 0x00, 0xD0...0xD7: from = place + 2
            default: return place
            }
        }
        return bytes.count
    }
}
