import Foundation

/// A parser for the headers and metadata of HEIC and AVIF files (ISO/IEC 23008-12, MIAF).
enum HEIF {
    static func type(of bytes: Bytes) -> PictureType? {
        guard (try? bytes.code(at: 4)) == "ftyp", let length = try? bytes.number(at: 0, bytes: 4),
            let major = try? bytes.code(at: 8)
        else { return nil }
        switch major {
        case "avif", "avis": return .avif
        case "heic", "heix", "heim", "heis", "hevc", "hevx": return .heic
        case "mif1", "msf1":
            // The major brand names only the container.
            let brands = stride(from: 16, to: min(length, 256), by: 4).compactMap { try? bytes.code(at: $0) }
            return brands.contains("avif") || brands.contains("avis") ? .avif : .heic
        default: return nil
        }
    }

    static func header(of bytes: Bytes) throws(PictureError) -> PictureHeader {
        guard let type = type(of: bytes) else { throw .unknown }
        var header = PictureHeader(type: type)
        let items = try HEIFItems(bytes)
        var turn = 0
        var mirror: Int?
        for property in items.properties {
            switch property.name {
            case "ispe":
                header.width = try property.body.number(at: 4, bytes: 4)
                header.height = try property.body.number(at: 8, bytes: 4)
            case "irot": turn = try property.body.byte(at: 0) & 3
            case "imir": mirror = try property.body.byte(at: 0) & 1
            case "colr":
                guard header.profile.isEmpty, property.body.matches("prof".utf8) || property.body.matches("rICC".utf8)
                else { break }
                let profile = try property.body.part(from: 4)
                if profile.count <= ColorProfile.maximumBytes { header.profile = profile.copy }
            default: break
            }
        }
        guard header.width > 0, header.height > 0 else { throw .corrupt }
        header.orientation = orientation(turn: turn, mirror: mirror)
        header.frames = items.isSequence ? 2 : 1
        return header
    }

    /// Combines `irot` (counterclockwise quarter turns) and then `imir` into an Exif orientation.
    ///
    /// The orientation in the Exif block of a HEIF file must be ignored.
    private static func orientation(turn: Int, mirror: Int?) -> Int {
        switch mirror {
        case nil: [1, 8, 3, 6][turn]
        case 0: [4, 5, 2, 7][turn]
        default: [2, 7, 4, 5][turn]
        }
    }

    /// Returns the file with its metadata overwritten in place.
    ///
    /// Lengths, offsets and the compressed image don't change.
    static func cleaned(_ bytes: Bytes, _ header: PictureHeader) throws(PictureError) -> Data {
        let items = try HEIFItems(bytes)
        // A sequence has a second set of metadata in its tracks.
        guard !items.isSequence else { throw .unsupported }
        let removableParts = items.removableParts
        var file = bytes.copy
        for item in removableParts.metadata {
            var replacement = item.isExif ? emptyExif : emptyXMP
            for extent in item.extents {
                if replacement.count > extent.count { replacement = Data() }
                replacement.append(Data(repeating: item.isExif ? 0 : 0x20, count: extent.count - replacement.count))
                file.replaceSubrange(extent, with: replacement)
                replacement = Data()
            }
        }
        for box in removableParts.boxes {
            file.replaceSubrange(box.name, with: Data("free".utf8))
            file.replaceSubrange(box.body, with: Data(count: box.body.count))
        }
        file = file.prefix(removableParts.end)
        // A crafted file could place metadata over the boxes that describe the file.
        guard try Self.header(of: Bytes(file)) == header, try HEIFItems(Bytes(file)).removableParts == removableParts
        else {
            throw .corrupt
        }
        return file
    }

    /// A TIFF block without entries, preceded by its offset.
    private static let emptyExif = Data("\0\0\0\0MM\0*\0\0\0\u{8}\0\0\0\0\0\0".utf8)
    private static let emptyXMP = Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8)
}

/// The consecutive boxes in a part of a file, without their nested boxes.
struct HEIFBoxes {
    struct Box {
        let name: Code
        /// The start and end of the box in the part.
        let start: Int
        let end: Int
        let body: Bytes
    }

    private let bytes: Bytes
    /// The start of the next box.
    private(set) var offset: Int

    init(_ bytes: Bytes, from offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    mutating func next() throws(PictureError) -> Box? {
        let start = offset
        guard bytes.hasBytes(8, at: start) else { return nil }
        try bytes.steps.take(PictureSteps.part)
        var length = try bytes.number(at: start, bytes: 4)
        var head = 8
        if length == 1 {
            length = try bytes.number(at: start + 8, bytes: 8)
            head = 16
        } else if length == 0 {
            length = bytes.count - start
        }
        guard length >= head, bytes.hasBytes(length, at: start) else { throw .corrupt }
        offset = start + length
        return Box(
            name: try bytes.code(at: start + 4), start: start, end: offset,
            body: try bytes.part(from: start + head, to: offset))
    }
}
