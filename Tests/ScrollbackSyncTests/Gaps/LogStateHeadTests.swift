import ContractRows
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("The head of a log")
struct LogStateHeadTests {
    @Test("A log that is new to the client is one gap")
    func adopting() {
        let state = LogState(adopting: log(10, firstSeq: 3, rev: 4))
        #expect(state.gaps.ranges == [3...10])
        #expect(state.rev == 4)
        #expect(state.isBehind)
        #expect(state.violations(rows: []).isEmpty)
    }

    @Test("A log without visible messages has no gap")
    func adoptingEmpty() {
        let state = LogState(adopting: log(10, firstSeq: 11))
        #expect(state.gaps.isEmpty)
        #expect(!state.isBehind)
        #expect(state.violations(rows: []).isEmpty)
    }

    @Test("A newer head opens a gap and requests a sync")
    func newerHead() {
        var copy = LogCopy(log(10))
        let edit = copy.apply(head: log(15, countedIndex: 14))
        #expect(edit.needsSync)
        #expect(copy.gaps == [11...15])
        #expect(copy.state.countedIndex == 14)
        #expect(copy.position.seq == 10)
        #expect(copy.violations.isEmpty)
    }

    @Test("A stale head changes nothing")
    func lateHead() {
        var copy = LogCopy(log(10, firstSeq: 4, rev: 3))
        let before = copy.state
        let edit = copy.apply(head: log(8, firstSeq: 2, rev: 1))
        #expect(copy.state == before)
        #expect(!edit.needsSync)
    }

    @Test("A newer revision requests a sync and is not adopted before it")
    func newerRev() {
        var copy = LogCopy(log(10, rev: 3))
        let edit = copy.apply(head: log(10, rev: 5))
        #expect(edit.needsSync)
        #expect(copy.state.rev == 3)
        #expect(copy.state.isBehind)
    }

    @Test("A higher retention floor removes rows, gaps and deleted ranges below it")
    func higherFloor() {
        var copy = LogCopy(log(20), read: 6...20)
        copy.apply(change: .removed(8...9, rev: 1))
        copy.apply(head: log(20, firstSeq: 12, rev: 1))
        #expect(copy.places == Array(12...20))
        #expect(copy.gaps.isEmpty)
        #expect(copy.deletedRanges.isEmpty)
        #expect(copy.violations.isEmpty)
    }

    @Test("A retention floor above all messages leaves an empty log")
    func floorAboveHead() {
        var copy = LogCopy(log(5))
        copy.apply(head: log(9, firstSeq: 10))
        #expect(copy.places.isEmpty)
        #expect(copy.state.range == nil)
        #expect(!copy.state.isBehind)
        #expect(copy.violations.isEmpty)
    }

    @Test("Another epoch starts the log over", .history(17))
    func otherEpoch() {
        var copy = LogCopy(log(10))
        let edit = copy.apply(head: log(4, rev: 2, epoch: 8))
        #expect(edit.erasesEverything)
        #expect(edit.needsSync)
        #expect(copy.rows.isEmpty)
        #expect(copy.state == LogState(adopting: log(4, rev: 2, epoch: 8)))
    }

    @Test("A wider view turns deleted ranges and messages below the floor into gaps", .history(5))
    func widerView() {
        // The member joined at 51, left at 80, and joined again at 120.
        var copy = LogCopy(log(130, firstSeq: 51), read: 120...130)
        copy.apply(page: page(51...119, messages(51...80), deletedRanges: [81...119], of: log(130, firstSeq: 51)))
        #expect(copy.gaps.isEmpty)
        #expect(copy.state.gapToFill(nearest: 60) == nil)
        #expect(copy.violations.isEmpty)

        copy.apply(head: log(130, view: 2))
        #expect(copy.gaps == [1...50, 81...119])
        #expect(copy.deletedRanges.isEmpty)
        #expect(copy.violations.isEmpty)
        copy.apply(page: page(1...50, messages(1...50), of: log(130, view: 2)))
        #expect(copy.gaps == [81...119])
    }

    @Test("An event from before a view change does not fill a former deleted range")
    func lateEventAfterView() {
        // Message 15 was edited at revision 1, while this reader could not see it.
        let narrow = log(20, firstSeq: 11)
        var copy = LogCopy(narrow)
        copy.apply(page: page(11...20, messages(11...14) + messages(17...20), deletedRanges: [15...16], of: narrow))
        copy.apply(head: log(20, rev: 1, view: 2))
        copy.apply(change: .invisible(rev: 1))
        copy.apply(message: message(15, "as sent"))
        #expect(copy.rows[15] == nil)
        copy.apply(page: page(15...16, [message(15, "edited", rev: 1), message(16)], of: log(20, rev: 1, view: 2)))
        #expect(copy.text(15) == "edited")
        #expect(copy.gaps == [1...10])
        #expect(copy.violations.isEmpty)
    }

    @Test("A wider view of an empty log opens a gap")
    func widerViewOfEmptyLog() {
        var copy = LogCopy(adopting: log(50, firstSeq: 51))
        copy.apply(head: log(50, view: 2))
        #expect(copy.gaps == [1...50])
        #expect(copy.violations.isEmpty)
    }

    @Test("A head of an older view is stale")
    func olderView() {
        var copy = LogCopy(log(10, view: 2))
        let edit = copy.apply(head: log(12, view: 1))
        #expect(edit.outcome == .stale(.view))
        #expect(copy.state.head == 10)
    }
}
