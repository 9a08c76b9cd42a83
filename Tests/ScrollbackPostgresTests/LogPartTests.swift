import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import Testing

@Suite struct LogPartTests {
    private static let places: SeqRange = 5...12
    /// The messages that exist.
    private static let seqs: [Seq] = [5, 6, 8, 9, 11, 12]

    private func part(large: Set<Seq> = []) -> LogPart {
        var part = LogPart(Self.places)
        for seq in Self.seqs { part.add(seq, large.contains(seq) ? nil : message(seq)) }
        return part
    }

    private func message(_ seq: Seq) -> MessageRow {
        MessageRow(
            seq: seq, countedIndex: seq, timetoken: Timetoken(rawValue: UInt64(seq)),
            id: MessageID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64(seq)), sender: "alice", type: .text,
            content: MessageContent.text("hi").json, attributes: .init(), digest: 0)
    }

    private func isKnown(_ range: SeqRange, large: Set<Seq> = [], newestFirst: Bool) -> Bool {
        part(large: large).messages(in: range, newestFirst: newestFirst) != nil
    }

    @Test func `A range outside of the part is not known`() {
        for newestFirst in [true, false] {
            #expect(!isKnown(1...4, newestFirst: newestFirst))
            #expect(!isKnown(13...20, newestFirst: newestFirst))
        }
        #expect(!isKnown(1...6, newestFirst: false))
        #expect(!isKnown(11...20, newestFirst: true))
    }

    @Test func `A range is known from its end in the part`() throws {
        let newest = try #require(part().messages(in: 1...9, newestFirst: true))
        #expect(newest.rows.map(\.seq) == [9, 8, 6, 5])
        #expect(newest.rest == 1...4)
        let oldest = try #require(part().messages(in: 6...20, newestFirst: false))
        #expect(oldest.rows.map(\.seq) == [6, 8, 9, 11, 12])
        #expect(oldest.rest == 13...20)
        let inner = try #require(part().messages(in: 7...10, newestFirst: false))
        #expect(inner.rows.map(\.seq) == [8, 9])
        #expect(inner.rest == nil)
    }

    @Test func `A range ends before a large message`() throws {
        let newest = try #require(part(large: [8]).messages(in: 5...12, newestFirst: true))
        #expect(newest.rows.map(\.seq) == [12, 11, 9])
        #expect(newest.rest == 5...8)
        let oldest = try #require(part(large: [8, 11]).messages(in: 5...12, newestFirst: false))
        #expect(oldest.rows.map(\.seq) == [5, 6])
        #expect(oldest.rest == 8...12)
        for newestFirst in [true, false] {
            #expect(!isKnown(5...12, large: [newestFirst ? 12 : 5], newestFirst: newestFirst))
        }
    }

    @Test func `The messages and the rest are the whole range`() throws {
        for lower: Seq in 1...14 {
            for upper in lower...14 {
                for large in [[], [8], [5, 12], [6, 9]] as [Set<Seq>] {
                    for newestFirst in [true, false] {
                        guard let known = part(large: large).messages(in: lower...upper, newestFirst: newestFirst)
                        else { continue }
                        let rest = known.rest.map { Set($0) } ?? []
                        let expected = Self.seqs.filter { (lower...upper).contains($0) && !rest.contains($0) }
                        #expect(known.rows.map(\.seq) == (newestFirst ? expected.reversed() : expected))
                        #expect(rest.isSubset(of: Set(lower...upper)))
                    }
                }
            }
        }
    }
}
