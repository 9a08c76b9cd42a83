import NIOCore
import Testing

@testable import ScrollbackServer

@Suite struct RefusalPaceTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// Counts refusals at one time until a pause begins.
    private func refuse(_ pace: inout RefusalPace, at now: NIODeadline) -> (count: Int, pause: TimeAmount)? {
        for count in 1...1000 {
            if let pause = pace.refused(at: now) { return (count, pause) }
        }
        return nil
    }

    @Test func `Pauses become longer, up to a second, and come after fewer refusals`() throws {
        var pace = RefusalPace()
        var now = Self.start
        var counts: [Int] = []
        var pauses: [TimeAmount] = []
        for _ in 0..<6 {
            let (count, pause) = try #require(refuse(&pace, at: now))
            counts.append(count)
            pauses.append(pause)
            now = now + pause
        }
        #expect(counts == [33, 17, 9, 5, 5, 5])
        #expect(pauses == [125, 250, 500, 1000, 1000, 1000].map { .milliseconds($0) })
    }

    @Test func `Refusals during a pause neither prolong it nor count afterwards`() throws {
        var pace = RefusalPace()
        let pause = try #require(refuse(&pace, at: Self.start)).pause
        for _ in 0..<500 { #expect(pace.refused(at: Self.start) == nil) }
        #expect(try #require(refuse(&pace, at: Self.start + pause)).count == 17)
    }

    @Test func `A client with at most 32 refusals and 20 pings in a second is never paused`() {
        var pace = RefusalPace()
        for second in 0..<100 {
            let now = Self.start + .seconds(Int64(second))
            for _ in 0..<32 { #expect(pace.refused(at: now) == nil) }
            for _ in 0..<20 { #expect(pace.pinged(at: now) == nil) }
        }
        #expect(!pace.wasPaused)
    }

    @Test func `Pings above the free ones count as refusals`() {
        var pace = RefusalPace()
        for _ in 0..<52 { #expect(pace.pinged(at: Self.start) == nil) }
        #expect(pace.pinged(at: Self.start) == .milliseconds(125))
    }

    @Test func `Ten seconds after its last pause, a client is treated like a new one`() throws {
        var pace = RefusalPace()
        let first = try #require(refuse(&pace, at: Self.start)).pause
        let resumed = Self.start + first
        let early = try #require(refuse(&pace, at: resumed + .milliseconds(9_999)))
        #expect(early == (17, .milliseconds(250)))
        let late = try #require(refuse(&pace, at: resumed + .milliseconds(9_999) + early.pause + .seconds(10)))
        #expect(late == (33, .milliseconds(125)))
    }
}
