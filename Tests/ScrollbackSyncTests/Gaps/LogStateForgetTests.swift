import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Deleting the local copy of a log")
struct LogStateForgetTests {
    @Test("Deleted rows become a gap, which a page fills again")
    func rowsBecomeAGap() {
        var copy = LogCopy(log(10), read: 1...10)
        copy.apply(change: .removed(3...4, rev: 1))
        copy.apply { $0.forget(through: 6) }
        #expect(copy.gaps == [1...2, 5...6])
        #expect(copy.places == [7, 8, 9, 10])
        #expect(!copy.state.isBehind, "The messages are history, which is loaded on demand.")
        #expect(copy.violations.isEmpty)
        copy.apply(page: page(1...6, [1, 2, 5, 6].map { message($0) }, deletedRanges: [3...4], of: log(10, rev: 1)))
        #expect(copy.gaps.isEmpty)
        #expect(copy.violations.isEmpty)
    }

    @Test("Nothing is deleted below the retention floor, and at most everything up to the head")
    func bounds() {
        var copy = LogCopy(log(10, firstSeq: 5), read: 5...10)
        copy.apply { $0.forget(through: 4) }
        #expect(copy.gaps.isEmpty)
        copy.apply { $0.forget(through: 20) }
        #expect(copy.gaps == [5...10])
        #expect(copy.rows.isEmpty)
        #expect(copy.violations.isEmpty)
        copy.apply(message: message(11))
        #expect(copy.gaps == [5...10])
        #expect(copy.places == [11])
    }

    @Test("A page that was read before a change does not fill the gap of the rows that had the change")
    func olderPage() {
        var copy = LogCopy(log(10), read: 1...10)
        copy.apply(change: .message(message(2, "edited", rev: 1)))
        copy.apply { $0.forget(through: 10) }
        #expect(copy.apply(page: page(1...10, messages(1...10), of: log(10))).isStale)
        #expect(copy.gaps == [1...10])
    }
}
