import Foundation

/// A parser for JPEG files (ISO/IEC 10918-1).
enum JPEG {
    static func header(of bytes: Bytes) throws(PictureError) -> PictureHeader {
        var header = PictureHeader(type: .jpeg)
        header.isComplete = false
        var exif: Bytes?
        var profile = ProfileParts()
        var segments = JPEGSegments(bytes)
        while let segment = try segments.next() {
            switch segment.marker {
            case 0xC0, 0xC1, 0xC2, 0xC9, 0xCA: try readFrame(segment.body, into: &header)
            // Lossless and hierarchical modes.
            case 0xC3, 0xC5...0xC7, 0xCB, 0xCD...0xCF: throw .unsupported
            case 0xE1: if exif == nil, segment.body.matches("Exif\0\0".utf8) { exif = segment.body }
            case 0xE2: if segment.isProfile { try profile.add(segment.body) }
            case 0xDA: header.scans += 1
            case 0xD9: header.isComplete = true
            default: break
            }
        }
        guard header.width > 0, header.scans > 0 else { throw .corrupt }
        if let exif { header.orientation = Exif.orientation(in: exif) }
        header.profile = profile.joined
        return header
    }

    private static func readFrame(_ body: Bytes, into header: inout PictureHeader) throws(PictureError) {
        guard header.width == 0 else { throw .corrupt }
        header.height = try body.number(at: 1, bytes: 2)
        header.width = try body.number(at: 3, bytes: 2)
        header.components = try body.byte(at: 5)
        // Rejects 12 bits per sample, and heights that are defined after the scan.
        guard try body.byte(at: 0) == 8, [1, 3, 4].contains(header.components), header.width > 0, header.height > 0
        else { throw .unsupported }
    }

    /// Returns the file with the segments that pixels and colors need, and an Exif segment with only the orientation.
    static func cleaned(_ bytes: Bytes, _ header: PictureHeader) throws(PictureError) -> Data {
        var file = Data([0xFF, 0xD8])
        var needsOrientation = header.orientation != 1
        var segments = JPEGSegments(bytes)
        while let segment = try segments.next() {
            // The JFIF segment must come first. Its preview pixels are removed.
            if segment.marker == 0xE0 {
                guard segment.isJFIF else { continue }
                file.append(contentsOf: [0xFF, 0xE0, 0, 16])
                try segment.body.part(at: 0, count: 12).write(to: &file)
                file.append(0, bytes: 2)
                continue
            }
            // Without Adobe's segment, CMYK colors would be inverted.
            let isApplication = (0xE0...0xEF).contains(segment.marker)
            guard segment.isProfile || segment.isAdobe || !isApplication && segment.marker != 0xFE else { continue }
            if needsOrientation {
                file.append(exif(orientation: header.orientation))
                needsOrientation = false
            }
            segment.whole.write(to: &file)
        }
        return file
    }

    private static func exif(orientation: Int) -> Data {
        let block = Data("Exif\0\0".utf8) + Exif.block(orientation: orientation)
        var segment = Data([0xFF, 0xE1])
        segment.append(UInt32(block.count + 2), bytes: 2)
        return segment + block
    }

    /// Returns a cleaned file without a profile with a color profile, which must fit into one segment.
    static func file(_ cleaned: Data, with profile: Data) -> Data {
        guard profile.count <= 0xFFFF - 16 else { return cleaned }
        let bytes = Bytes(cleaned)
        let offset = bytes.matches([0xFF, 0xD8, 0xFF, 0xE0, 0, 16]) ? 20 : 2
        var file = Data(cleaned.prefix(offset))
        file.append(contentsOf: [0xFF, 0xE2])
        file.append(UInt32(profile.count + 16), bytes: 2)
        file.append(contentsOf: "ICC_PROFILE\0".utf8)
        file.append(contentsOf: [1, 1])
        return file + profile + cleaned.dropFirst(offset)
    }
}

/// The parts of a profile, which can be split into up to 255 segments (ICC.1, B.4).
private struct ProfileParts {
    private var parts: [Int: (of: Int, part: Bytes)] = [:]
    private var size = 0

    mutating func add(_ body: Bytes) throws(PictureError) {
        guard body.count > 14 else { return }
        let number = try body.byte(at: 12)
        guard parts[number] == nil else { return }
        parts[number] = (try body.byte(at: 13), try body.part(from: 14))
        size += body.count - 14
    }

    /// The joined profile; empty if a part is missing, or if the profile is too large.
    var joined: Data {
        guard size <= ColorProfile.maximumBytes else { return Data() }
        var profile = Data()
        for number in 0..<parts.count {
            guard let (of, part) = parts[number + 1], of == parts.count else { return Data() }
            part.write(to: &profile)
        }
        return profile
    }
}
