import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Gap requests")
struct GapRequestTests {
    /// A log of 1...100 with the gaps 1...10 and 41...60.
    private var state: LogState {
        var copy = LogCopy(log(100), read: 61...100)
        copy.apply(page: page(11...40, messages(11...40), of: log(100)))
        return copy.state
    }

    @Test("The gap below a position is requested from its upper end")
    func below() {
        let request = state.gapToFill(nearest: 70)
        #expect(request == GapRequest(gap: 41...60, anchor: 61, direction: .older, limit: 20))
        #expect(request?.query == HistoryQuery(.before(.seq(61)), limit: 20))
    }

    @Test("The gap above a position is requested from its lower end")
    func above() {
        let request = state.gapToFill(nearest: 38)
        #expect(request == GapRequest(gap: 41...60, anchor: 40, direction: .newer, limit: 20))
        #expect(request?.query == HistoryQuery(.after(.seq(40)), limit: 20))
    }

    @Test("The nearer of two gaps is requested")
    func nearer() {
        #expect(state.gapToFill(nearest: 13)?.gap == 1...10)
        #expect(state.gapToFill(nearest: 35)?.gap == 41...60)
    }

    @Test("Inside a gap, the page starts at the position itself")
    func inside() {
        #expect(
            state.gapToFill(nearest: 50) == GapRequest(gap: 41...50, anchor: 51, direction: .older, limit: 10))
    }

    @Test("A gap request is limited by the page size and by the size of the gap")
    func limits() {
        let long = LogState(adopting: log(1000))
        #expect(long.gapToFill(nearest: 1000)?.limit == 100)
        #expect(long.gapToFill(nearest: 1000, limit: 30)?.limit == 30)
        #expect(long.gapToFill(nearest: 1000, limit: 5000)?.limit == 100)
        #expect(state.gapToFill(nearest: 5)?.limit == 5)
    }

    @Test("A log without gaps needs no request")
    func none() {
        #expect(LogCopy(log(10)).state.gapToFill(nearest: 5) == nil)
    }

    @Test("The integrity check reports each violation")
    func checker() {
        var state = LogState(adopting: log(10))
        #expect(state.violations(rows: []).isEmpty)
        #expect(state.violations(rows: [3]).count == 2)
        state.gaps.remove(3...3)
        #expect(state.violations(rows: [3]).isEmpty)
        #expect(state.violations(rows: []) == ["0 rows, 9 in gaps and 0 deleted don't cover 10"])
        state.deletedRanges.insert(3...4)
        #expect(!state.violations(rows: []).isEmpty)
        #expect(!state.violations(rows: [11]).isEmpty)
    }
}
