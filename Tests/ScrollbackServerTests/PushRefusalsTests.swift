import ScrollbackModel
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackServer

/// Tests how the server logs pushes that a push service refused.
@Suite struct PushRefusalsTests {
    @Test func `A reason is logged at once, and again after a minute with its number of occurrences`() {
        let log = LogRecorder()
        let now = Mutex(ContinuousClock.now)
        let refusals = PushRefusalLogger(logger: log.logger, now: { now.withLock(\.self) })
        for _ in 0..<100 { refusals.refused(.apns, "BadTopic") }
        #expect(log.lines == ["The push service refuses pushes. count=1 reason=BadTopic service=apns"])
        refusals.refused(.apns, "TopicDisallowed")
        refusals.refused(.fcm, "BadTopic")
        #expect(log.lines.count == 3)
        now.withLock { $0 += .seconds(60) }
        refusals.refused(.apns, "BadTopic")
        #expect(log.lines.last == "The push service refuses pushes. count=100 reason=BadTopic service=apns")
        // A reason that is never the same is logged each time and not counted.
        for number in 0..<2_000 { refusals.refused(.vivo, "request \(number)") }
        #expect(log.lines.count == 2_004)
    }
}
