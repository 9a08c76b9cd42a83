import Foundation
import ScrollbackEngine

/// A stored part of an upload's bytes.
///
/// The name of its object has the offset, the length, and the time at which its writer opened the upload. The segments
/// of one writer have no gaps between them.
struct UploadSegment: Hashable, Sendable {
    var offset: Int64
    var length: Int64
    /// The time at which its writer opened the upload, in milliseconds since 1970.
    var openedAt: Int64
    var isEncrypted = false

    private static let encryptedSuffix = ".sealed"

    init(offset: Int64, length: Int64, openedAt: Int64, isEncrypted: Bool = false) {
        self.offset = offset
        self.length = length
        self.openedAt = openedAt
        self.isEncrypted = isEncrypted
    }

    /// Parses the name of an object.
    ///
    /// - Returns: `nil` if the name is not the one of a segment.
    init?(name: some StringProtocol) {
        let isEncrypted = name.hasSuffix(Self.encryptedSuffix)
        let parts = name.dropLast(isEncrypted ? Self.encryptedSuffix.count : 0)
            .split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64($0) : nil }
        guard parts.count == 3, numbers.count == 3 else { return nil }
        self.init(offset: numbers[0], length: numbers[1], openedAt: numbers[2], isEncrypted: isEncrypted)
        guard self.name == name, length > 0, !offset.addingReportingOverflow(length).overflow else { return nil }
    }

    var end: Int64 { offset + length }

    /// The name of its object.
    ///
    /// Names sort by their offset.
    var name: String {
        let digits = String(offset)
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits + "-\(length)-\(openedAt)"
            + (isEncrypted ? Self.encryptedSuffix : "")
    }
}

/// The segments that contain the first bytes of an upload.
struct UploadSegments: Sendable {
    /// The beginning of a segment.
    typealias Part = (segment: UploadSegment, count: Int64)

    /// The segments to read, in their order, and how many bytes of each one belong to the upload.
    private(set) var parts: [Part] = []
    /// The other segments.
    private(set) var obsolete: [UploadSegment] = []
    /// The time for a new writer: the given one, or a later one if a known segment is not older.
    let openedAt: Int64

    /// Selects the segments before an offset.
    ///
    /// A writer begins at the offset that the upload's row has. What earlier writers stored at this offset or after it
    /// was not acknowledged, even if it arrives later. So each segment ends where the first segment of a later writer
    /// begins.
    ///
    /// - Parameters:
    ///   - found: All segments of the upload.
    ///   - offset: The number of bytes.
    ///   - now: The time in milliseconds since 1970.
    /// - Returns: `nil` if bytes are missing.
    init?(_ found: [UploadSegment], before offset: Int64, now: Int64) {
        openedAt = max(now, (found.map(\.openedAt).max() ?? 0) + 1)
        /// Where the segments of later writers begin at the earliest, by the time of the writer.
        var ends: [Int64: Int64] = [:]
        var begin = Int64.max
        for writer in Dictionary(grouping: found, by: \.openedAt).sorted(by: { $0.key > $1.key }) {
            ends[writer.key] = begin
            for segment in writer.value { begin = min(begin, segment.offset) }
        }
        var place: Int64 = 0
        // If the answer to a segment was lost, its writer may have stored a longer one at the same offset.
        let ordered = found.sorted { ($0.offset, $1.openedAt, $1.length) < ($1.offset, $0.openedAt, $0.length) }
        for segment in ordered {
            let end = min(segment.end, ends[segment.openedAt] ?? .max, offset)
            guard segment.offset == place, end > place else {
                obsolete.append(segment)
                continue
            }
            parts.append((segment, end - place))
            place = end
        }
        guard place == offset else { return nil }
    }
}
