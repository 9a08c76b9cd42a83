import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Windows of a log")
struct LogStateWindowTests {
    /// A log of 1...100, of which 11...50 and 61...90 are deleted ranges.
    private let state: LogState = {
        var state = LogState(adopting: log(100))
        state.deletedRanges = SeqRangeSet([11...50, 61...90])
        return state
    }()

    @Test("A window counts only sequence numbers that can have messages, in both directions")
    func counting() {
        #expect(state.lowerEnd(of: 10, through: 100) == 91)
        #expect(state.lowerEnd(of: 11, through: 100) == 60)
        #expect(state.lowerEnd(of: 25, through: 100) == 6)
        #expect(state.lowerEnd(of: 3, through: 70) == 58)
        #expect(state.upperEnd(of: 10, from: 1) == 10)
        #expect(state.upperEnd(of: 11, from: 1) == 51)
        #expect(state.upperEnd(of: 25, from: 1) == 95)
        #expect(state.upperEnd(of: 3, from: 20) == 53)
    }

    @Test("A window ends with the log, and a window of size zero is empty")
    func ends() {
        #expect(state.lowerEnd(of: 1000, through: 100) == 1)
        #expect(state.lowerEnd(of: 5, through: 3) == 1)
        #expect(state.upperEnd(of: 1000, from: 1) == 100)
        #expect(state.upperEnd(of: 5, from: 99) == 100)
        #expect(state.lowerEnd(of: 5, through: 1000) == 96)
        #expect(state.upperEnd(of: 5, from: -7) == 5)
        #expect(state.lowerEnd(of: 0, through: 40) == 41)
        #expect(state.upperEnd(of: 0, from: 40) == 39)
        #expect(state.lowerEnd(of: 0, through: 0) == 1)
    }
}
