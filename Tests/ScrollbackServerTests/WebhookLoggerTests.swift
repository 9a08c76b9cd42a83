import TestSupport
import Testing

@testable import ScrollbackServer

/// Tests how the server logs webhooks that fail.
@Suite struct WebhookLoggerTests {
    @Test func `A failing webhook is logged with the reason, and later that it works again`() {
        let log = LogRecorder()
        let logger = WebhookLogger(logger: log.logger)
        logger.stateChanged(of: "bot", failure: "The webhook answered with status 503.")
        logger.stateChanged(of: "bot", failure: nil)
        #expect(
            log.lines == [
                "A webhook does not accept events. The server keeps them and tries again. "
                    + "reason=The webhook answered with status 503. webhook=bot",
                "A webhook accepts events again. webhook=bot",
            ])
    }
}
