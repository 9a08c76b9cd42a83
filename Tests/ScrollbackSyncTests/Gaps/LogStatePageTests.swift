import ContractRows
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Pages of a log")
struct LogStatePageTests {
    @Test("A filtered page leaves the rest of the gap to be loaded", .history(1))
    func filterFirst() {
        var copy = LogCopy(adopting: log(1000))
        copy.apply(page: filteredPage(1...1000, [message(10), message(500), message(990)], of: log(1000)))
        #expect(copy.state.gaps.count == 997)
        #expect(copy.places == [10, 500, 990])
        var pages = 0
        while let request = copy.state.gapToFill(nearest: 1000), pages < 100 {
            let upper = request.anchor - 1
            let covered = max(1, upper - Seq(request.limit) + 1)...upper
            copy.apply(page: page(covered, messages(covered), of: log(1000)))
            pages += 1
        }
        #expect(copy.places == Array(1...1000))
        #expect(pages <= 13)
    }

    @Test("The deleted ranges of a filtered page do not change gaps")
    func deletedRangesOfFilteredPageKeepGaps() {
        var copy = LogCopy(adopting: log(20))
        copy.apply(page: filteredPage(1...20, [], deletedRanges: [5...9], of: log(20)))
        #expect(copy.gaps == [1...20])
        #expect(copy.deletedRanges.isEmpty)
    }

    @Test("An unfiltered page removes exactly its rows and deleted ranges from the gaps")
    func exactCoverage() {
        var copy = LogCopy(adopting: log(100))
        copy.apply(page: page(41...50, messages(41...47), deletedRanges: [49...50], of: log(100)))
        // The page covered 48, but has neither a row nor a deleted range for it. It stays a gap, so it is requested
        // again.
        #expect(copy.gaps == [1...40, 48...48, 51...100])
        #expect(copy.deletedRanges == [49...50])
        #expect(copy.violations.isEmpty)
    }

    @Test("A page that was read before a recall does not restore the recalled message", .history(3))
    func stalePageDoesNotRestoreMessage() {
        var copy = LogCopy(log(20, rev: 10), read: 11...20)
        let late = page(1...10, messages(1...10), of: log(20, rev: 10))
        copy.apply(change: .message(message(4, nil, rev: 11)))
        copy.apply(change: .removed(6...7, rev: 12))
        copy.apply(page: late)
        #expect(copy.rows[4]?.isDeleted == true)
        #expect(copy.rows[6] == nil)
        #expect(copy.gaps.isEmpty)
        #expect(copy.violations.isEmpty)
    }

    @Test("A range deleted in the middle takes one page", .history(6))
    func largeDeletedRangeTakesOnePage() {
        let head = log(500_200)
        var copy = LogCopy(head, read: 500_101...500_200)
        let covered: SeqRange = 51...500_100
        copy.apply(page: page(covered, messages(51...100), deletedRanges: [101...500_100], of: head))
        #expect(copy.gaps == [1...50])
        #expect(copy.deletedRanges == [101...500_100])
        #expect(copy.violations.isEmpty)
    }

    @Test("A page is used although 200 messages arrived while it was in flight", .history(25))
    func pageWhileLive() {
        var copy = LogCopy(log(300), read: 201...300)
        let late = page(101...200, messages(101...200), of: log(300))
        for seq: Seq in 301...500 { copy.apply(message: message(seq)) }
        let edit = copy.apply(page: late)
        #expect(edit.outcome == .applied)
        #expect(copy.gaps == [1...100])
        #expect(copy.state.head == 500)
        #expect(copy.violations.isEmpty)
    }

    @Test("A page that covered nothing changes nothing", .history(26))
    func emptyPages() {
        var copy = LogCopy(adopting: log(10, firstSeq: 3))
        let before = copy.state
        copy.apply(page: page(nil, [], of: log(10, firstSeq: 3)))
        #expect(copy.state == before)
        var empty = LogCopy(adopting: log(0))
        empty.apply(page: page(nil, [], of: log(0)))
        #expect(empty.state.range == nil)
        #expect(empty.violations.isEmpty)
    }

    @Test("An empty page that covered sequence numbers moves the next request past them", .history(26))
    func emptyCoveringPage() {
        var copy = LogCopy(adopting: log(10))
        copy.apply(page: page(4...10, [], deletedRanges: [4...10], of: log(10)))
        #expect(copy.gaps == [1...3])
        #expect(copy.state.gapToFill(nearest: 10)?.anchor == 4)
    }

    @Test("A page that is applied twice changes nothing the second time")
    func repeatedPageChangesNothing() {
        var copy = LogCopy(adopting: log(20))
        let once = page(11...20, messages(11...18), deletedRanges: [19...20], of: log(20))
        copy.apply(page: once)
        let before = (copy.state, copy.rows)
        copy.apply(page: once)
        #expect(copy.state == before.0)
        #expect(copy.rows == before.1)
    }

    @Test("A page with a newer head first opens the gap")
    func pageWithNewerHead() {
        var copy = LogCopy(log(10))
        let edit = copy.apply(page: page(14...15, messages(14...15), of: log(15, rev: 2)))
        #expect(copy.gaps == [11...13])
        #expect(edit.needsSync)
        #expect(copy.state.rev == 0)
        #expect(copy.violations.isEmpty)
    }

    @Test("A page with a lower or a higher retention floor is applied within the higher one")
    func pageAndFloor() {
        var copy = LogCopy(log(20, firstSeq: 8), read: 15...20)
        copy.apply(page: page(5...10, messages(5...10), deletedRanges: [], of: log(20, firstSeq: 5)))
        #expect(copy.places.first == 8)
        #expect(copy.gaps == [11...14])
        copy.apply(page: page(13...14, messages(13...14), of: log(20, firstSeq: 10)))
        #expect(copy.places == [10] + Array(13...20))
        #expect(copy.gaps == [11...12])
        #expect(copy.violations.isEmpty)
    }

    @Test("A deleted range in a page removes the rows inside it")
    func deletedRangeRemovesRows() {
        var copy = LogCopy(log(10))
        copy.apply(page: page(1...10, messages(1...4) + messages(8...10), deletedRanges: [5...7], of: log(10, rev: 1)))
        #expect(copy.places == [1, 2, 3, 4, 8, 9, 10])
        #expect(copy.deletedRanges == [5...7])
        #expect(copy.violations.isEmpty)
    }

    @Test("A late page of an old epoch, another view or an old snapshot is dropped")
    func stalePages() {
        var copy = LogCopy(adopting: log(10, rev: 5, view: 2, epoch: 8))
        let before = copy.state
        let dead = copy.apply(page: page(1...10, messages(1...10), of: log(10, rev: 9, view: 2)))
        #expect(dead.outcome == .stale(.epoch))
        #expect(dead.needsSync)
        let narrow = copy.apply(
            page: page(1...10, messages(1...10, epoch: 8), of: log(10, rev: 5, view: 1, epoch: 8)))
        #expect(narrow.outcome == .stale(.view))
        // The page was read at revision 3. This client never received the changes at 4 and 5.
        let old = copy.apply(
            page: page(1...10, messages(1...10, epoch: 8), of: log(10, rev: 3, view: 2, epoch: 8)))
        #expect(old.outcome == .stale(.snapshot))
        #expect(copy.state == before)
        #expect(copy.rows.isEmpty)
    }
}
