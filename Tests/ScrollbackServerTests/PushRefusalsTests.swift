import ScrollbackModel
import Synchronization
import Testing

@testable import ScrollbackServer

/// What push services refuse, as operators are told.
@Suite struct PushRefusalsTests {
    @Test func `A reason is told at once, and again after a minute with how often it came meanwhile`() {
        let log = Lines()
        let now = Mutex(ContinuousClock.now)
        let refusals = PushRefusals(logger: log.logger, now: { now.withLock(\.self) })
        for _ in 0..<100 { refusals.refused(.apns, "BadTopic") }
        #expect(log.all == ["pushes are refused count=1 reason=BadTopic service=apns"])
        refusals.refused(.apns, "TopicDisallowed")
        refusals.refused(.fcm, "BadTopic")
        #expect(log.all.count == 3)
        now.withLock { $0 += .seconds(60) }
        refusals.refused(.apns, "BadTopic")
        #expect(log.all.last == "pushes are refused count=100 reason=BadTopic service=apns")
        // What is worded anew each time is told each time, and not kept.
        for number in 0..<2_000 { refusals.refused(.vivo, "request \(number)") }
        #expect(log.all.count == 2_004)
    }
}
