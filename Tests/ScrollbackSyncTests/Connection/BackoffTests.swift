import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Backoff")
struct BackoffTests {
    private var random = SplitMix64(seed: 1)

    @Test("Waits double from 0.5 to 30 seconds, each between half and the full value")
    mutating func doubles() {
        var backoff = Backoff()
        for whole in [0.5, 1, 2, 4, 8, 16, 30, 30] {
            #expect((whole / 2...whole).contains(backoff.next(using: &random)))
        }
    }

    @Test("A success resets the backoff")
    mutating func resets() {
        var backoff = Backoff()
        for _ in 1...5 { _ = backoff.next(using: &random) }
        backoff.reset()
        #expect(backoff.failures == 0)
        #expect(backoff.next(using: &random) <= 0.5)
    }

    @Test("The wait after a thousand failures does not exceed the maximum")
    mutating func cap() {
        #expect((15...30).contains(Backoff().wait(afterFailures: 1000, using: &random)))
    }

    @Test("Reconnects are spread over the interval that a restarting server requests")
    mutating func spread() {
        let waits = (1...200).map { _ in
            var backoff = Backoff()
            return backoff.next(spreadOver: 10, using: &random)
        }
        #expect(waits.allSatisfy { (0...10).contains($0) })
        #expect(waits.contains { $0 < 2 } && waits.contains { $0 > 8 })
    }
}
