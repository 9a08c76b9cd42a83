import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

/// The order in which a node delivers commits.
@Suite("The order of commits")
struct CommitOrderTests {
    private func note(_ number: Int64) -> CommitNote {
        let body = [UInt8(truncatingIfNeeded: number)]
        return CommitNote(number: number, id: CommitID(bits: UInt64(number) &* 0x9E37), body: body)
    }

    private func page(_ numbers: ClosedRange<Int64>, hasMore: Bool = false) -> NotePage {
        NotePage(notes: numbers.map { note($0) }, hasMore: hasMore)
    }

    private func order(after number: Int64) -> CommitOrder { CommitOrder(after: number, id: note(number).id) }

    @Test("Notes that come early wait, repeated ones are ignored")
    func order() {
        var order = order(after: 4)
        #expect(order.receive(note(6)) == [])
        #expect(order.hasGap)
        #expect(order.receive(note(4)) == [])
        #expect(order.receive(note(5)) == [note(5), note(6)])
        #expect(order.receive(note(6)) == [])
        #expect(order.last.number == 6)
        #expect(!order.hasGap)
    }

    @Test("A page from the store fills a gap")
    func page() throws {
        var order = order(after: 4)
        _ = order.receive(note(8))
        #expect(try order.receive(page(4...7), from: 4) == [note(5), note(6), note(7), note(8)])
    }

    @Test("A page that was read before the node delivered more is used as far as it is new")
    func latePage() throws {
        var order = order(after: 4)
        for number in 5...7 { _ = order.receive(note(Int64(number))) }
        #expect(try order.receive(page(4...6), from: 4) == [])
        #expect(try order.receive(page(4...9), from: 4) == [note(8), note(9)])
        // Nothing was committed when the page was read.
        #expect(try order.receive(NotePage(notes: [], hasMore: false), from: 4) == [])
    }

    @Test("An own commit comes before notes that arrived before its end")
    func ownCommit() {
        var order = order(after: 4)
        _ = order.receive(note(6))
        let (isNew, next) = order.committed(5, id: note(5).id)
        #expect(isNew)
        #expect(next == [note(6)])
        // The note of an own commit may arrive before its end, too.
        _ = order.receive(note(7))
        #expect(order.committed(7, id: note(7).id).isNew == false)
    }

    @Test("A store that lost a delivered commit is detected")
    func lostCommit() {
        var order = order(after: 4)
        let other = NotePage(notes: [CommitNote(number: 4, id: CommitID(bits: 1), body: []), note(5)], hasMore: false)
        #expect(throws: CommitOrder.Failure.wentBack(4)) { try order.receive(other, from: 4) }
        #expect(throws: CommitOrder.Failure.wentBack(4)) {
            try order.receive(NotePage(notes: [], hasMore: false), from: 4)
        }
        #expect(order.last.number == 4)
    }

    @Test("A note after another commit than the last delivered one waits, and the store shows what was lost")
    func otherPredecessor() throws {
        var order = order(after: 4)
        let other = CommitNote(number: 4, id: CommitID(bits: 1), body: [])
        #expect(order.receive(note(5), after: other.id) == [])
        #expect(order.hasGap)
        let page = NotePage(notes: [other, note(5)], hasMore: false)
        #expect(throws: CommitOrder.Failure.wentBack(4)) { try order.receive(page, from: 4) }
        // The predecessor of this one is the last delivered commit.
        #expect(order.receive(note(5), after: note(4).id) == [note(5)])
    }

    @Test("Commits without notes, of a server that did not share the store, are noticed")
    func commitsWithoutNotes() {
        var order = order(after: 4)
        let page = NotePage(notes: [note(4), note(5), note(9)], hasMore: false)
        #expect(throws: CommitOrder.Failure.tooLate(9)) { try order.receive(page, from: 4) }
    }

    @Test("A node that was inactive until notes were deleted must start again")
    func deletedNotes() {
        var order = order(after: 4)
        #expect(throws: CommitOrder.Failure.tooLate(9)) { try order.receive(page(9...12), from: 4) }
    }

    @Test("The number of notes that wait is limited, and the next one is always taken")
    func limit() {
        var order = order(after: 0)
        let last = Int64(CommitOrder.maximumEarly) + 2
        for number in 2...last { #expect(order.receive(note(number)) == []) }
        let delivered = order.receive(note(1))
        #expect(delivered.map(\.number) == Array(1...last - 1))
    }

    @Test("Lost, repeated and reordered notes: each commit is delivered once, in order", arguments: Seeds.range(500))
    func histories(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let count = Int64.random(in: 1...60, using: &generator)
        var order = order(after: 0)
        var delivered: [Int64] = []
        var committed: Int64 = 0
        while delivered.count < count {
            if committed < count, Bool.random(using: &generator) { committed += 1 }
            switch Int.random(in: 0..<8, using: &generator) {
            case 0:
                let from = order.last.number
                let read = page(from...max(from, committed))
                if Bool.random(using: &generator) {
                    // Something arrives between reading and taking the page.
                    delivered += order.receive(note(min(committed, from + 1))).map(\.number)
                }
                delivered += try order.receive(read, from: from).map(\.number)
            case 1 where committed == order.last.number && committed < count:
                committed += 1
                if order.committed(committed, id: note(committed).id).isNew { delivered.append(committed) }
            default:
                guard committed > 0 else { continue }
                delivered += order.receive(note(.random(in: 1...committed, using: &generator))).map(\.number)
            }
        }
        #expect(delivered == Array(1...count))
    }
}
