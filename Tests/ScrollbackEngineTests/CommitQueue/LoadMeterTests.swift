import ScrollbackEngine
import Synchronization
import Testing

@Suite("Load of a worker thread")
struct LoadMeterTests {
    private final class Clock: Sendable {
        let time = Atomic<UInt64>(0)
    }

    @Test("The load is the busy share of the last tenth of a second, and falls without work")
    func share() {
        let clock = Clock()
        let meter = LoadMeter { clock.time.load(ordering: .relaxed) }
        func work(_ milliseconds: UInt64, rest: UInt64) {
            clock.time.wrappingAdd((milliseconds + rest) * 1_000_000, ordering: .relaxed)
            meter.add(milliseconds * 1_000_000)
        }
        #expect(meter.share == 0)
        for _ in 0..<50 { work(4, rest: 1) }
        #expect(abs(meter.share - 0.8) < 0.01)
        for _ in 0..<50 { work(5, rest: 0) }
        #expect(meter.share == 1)
        clock.time.wrappingAdd(1_000_000_000, ordering: .relaxed)
        #expect(meter.share < 0.1)
        work(1, rest: 0)
        #expect(meter.share < 0.1)
    }
}
