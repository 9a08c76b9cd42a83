import ScrollbackModel
import TestSupport
import Testing

@testable import ScrollbackServer

@Suite struct UploadSegmentTests {
    private func segment(_ offset: Int64, _ length: Int64, _ openedAt: Int64 = 1) -> UploadSegment {
        UploadSegment(offset: offset, length: length, openedAt: openedAt)
    }

    private func parts(_ segments: [UploadSegment], before offset: Int64) -> [[Int64]]? {
        UploadSegments(segments.reversed(), before: offset, now: 5)?.parts.map {
            [$0.segment.offset, $0.segment.length, $0.segment.openedAt, $0.count]
        }
    }

    @Test func `Names sort by their offset and can be parsed`() {
        let segments = [segment(0, 5), segment(9, 20_000_000, 1_764_198_309_000), segment(10_000_000_000_000_000, 1)]
        for segment in segments { #expect(UploadSegment(name: segment.name) == segment) }
        #expect(segments.prefix(2).map(\.name).sorted() == segments.prefix(2).map(\.name))
        for name in [
            "", "0-5-1", "0000000000000000-5", "0000000000000000-0-1", "0000000000000000-5-1-", "x-5-1",
            "0000000000000000--5-1", "0000000000000000-05-1", "9223372036854775807-9-1", "0000000000000000-٥-1",
        ] {
            #expect(UploadSegment(name: name) == nil, "\(name)")
        }
    }

    @Test func `Segments without a hole before the offset are selected, and the last one is cut`() {
        let all = [segment(0, 8), segment(8, 8), segment(16, 4)]
        #expect(parts(all, before: 20) == [[0, 8, 1, 8], [8, 8, 1, 8], [16, 4, 1, 4]])
        #expect(parts(all, before: 16) == [[0, 8, 1, 8], [8, 8, 1, 8]])
        #expect(parts(all, before: 13) == [[0, 8, 1, 8], [8, 8, 1, 5]])
        #expect(UploadSegments(all, before: 8, now: 5)?.obsolete == [segment(8, 8), segment(16, 4)])
        #expect(parts(all, before: 0) == [] && parts([], before: 0) == [])
        #expect(parts(all, before: 21) == nil && parts([], before: 1) == nil)
        #expect(parts([all[0], all[2]], before: 20) == nil && parts([all[1]], before: 16) == nil)
    }

    @Test func `A segment that an earlier writer stored too late is not selected`() {
        // The first writer stored 0..<8, and the second one resumed there. The first writer's later segments arrive
        // before or after the second writer's.
        let (first, second) = (segment(0, 8), segment(8, 4, 2))
        for late in [segment(8, 8), segment(8, 4), segment(12, 8), segment(10, 2), segment(8, 2)] {
            #expect(parts([first, late, second], before: 12) == [[0, 8, 1, 8], [8, 4, 2, 4]], "\(late)")
            #expect(UploadSegments([first, late, second], before: 12, now: 5)?.obsolete == [late])
        }
        // The third writer resumed before the end of what the second one stored.
        let third = segment(10, 6, 3)
        #expect(parts([first, second, third], before: 16) == [[0, 8, 1, 8], [8, 4, 2, 2], [10, 6, 3, 6]])
    }

    @Test func `The longest segment is selected if the answer to a shorter one was lost`() {
        let (first, shorter, longer) = (segment(0, 8), segment(8, 8), segment(8, 9))
        #expect(parts([first, shorter, longer], before: 17) == [[0, 8, 1, 8], [8, 9, 1, 9]])
        #expect(parts([first, shorter, longer], before: 16) == [[0, 8, 1, 8], [8, 9, 1, 8]])
    }

    @Test func `A new writer has a later time than all known ones`() {
        #expect(UploadSegments([segment(0, 8, 3)], before: 8, now: 5)?.openedAt == 5)
        #expect(UploadSegments([segment(0, 8, 5)], before: 8, now: 5)?.openedAt == 6)
        #expect(UploadSegments([segment(0, 8, 90)], before: 0, now: 5)?.openedAt == 91)
    }

    @Test(arguments: Seeds.range(per: 5))
    func `Segments that arrive at any time never change the committed bytes`(seed: UInt64) {
        // Bytes are numbered by their writer. A writer begins at the committed offset, and what it stored is committed
        // or not, or arrives only after later writers began.
        var generator = SplitMix64(seed: seed)
        var (stored, late): ([UploadSegment], [UploadSegment]) = ([], [])
        var committed: [Int64] = []
        var writer: Int64 = 0
        for _ in 0..<8 {
            guard let segments = UploadSegments(stored, before: Int64(committed.count), now: writer + 1) else {
                Issue.record("bytes are missing")
                return
            }
            var bytes: [Int64] = []
            for (segment, count) in segments.parts {
                bytes += Array(repeating: segment.openedAt, count: Int(count))
            }
            #expect(bytes == committed)
            stored.removeAll { segments.obsolete.contains($0) }
            writer = segments.openedAt
            var end = committed.count
            for _ in 0..<generator.below(4) {
                let new = segment(Int64(end), Int64(1 + generator.below(5)), writer)
                end += Int(new.length)
                guard generator.chance(70) else {
                    // This writer was replaced, and its segment arrives when it may.
                    late.append(new)
                    break
                }
                stored.append(new)
                committed += Array(repeating: writer, count: generator.below(end - committed.count + 1))
            }
            if generator.chance(50), let segment = late.popLast() { stored.append(segment) }
        }
    }
}
