import Foundation
import ScrollbackSync
import Testing

@Suite("The pace of delivery reports")
struct DeliveryReportsTests {
    private let start = Date(timeIntervalSince1970: 1_795_255_260)

    /// Returns the state after the report that follows a connection was answered with nothing due.
    private func connected() -> DeliveryReports {
        var reports = DeliveryReports()
        #expect(reports.connected(now: start) == .report)
        reports.foundNothing()
        return reports
    }

    @Test("A due report is sent immediately, and the next ones once a second together")
    func pace() {
        var reports = connected()
        #expect(reports.needed(now: start) == .report)
        // One request is in flight at a time.
        #expect(reports.needed(now: start) == nil)
        #expect(reports.answered(now: start + 0.1) == .wake(start + 1))
        #expect(reports.needed(now: start + 0.2) == nil)
        #expect(reports.tick(now: start + 0.5) == nil)
        #expect(reports.tick(now: start + 1) == .report)
        // An answer after more than a second is followed by the next report immediately.
        #expect(reports.answered(now: start + 3) == .report)
        reports.foundNothing()
        #expect(reports.tick(now: start + 9) == nil)
    }

    @Test("Everything that is due is reported after connecting, and nothing without a connection")
    func connection() {
        var reports = DeliveryReports()
        #expect(reports.needed(now: start) == nil)
        #expect(reports.connected(now: start) == .report)
        reports.disconnected()
        #expect(reports.needed(now: start) == nil)
        #expect(reports.tick(now: start + 5) == nil)
        #expect(reports.connected(now: start) == .report)
    }

    @Test("After a temporary error, nothing is reported before the retry, whatever becomes due")
    func failure() {
        var reports = connected()
        #expect(reports.needed(now: start) == .report)
        // More becomes due while the request is in flight.
        #expect(reports.needed(now: start) == nil)
        reports.failed()
        #expect(reports.tick(now: start + 5) == nil)
        #expect(reports.needed(now: start + 5) == nil)
        #expect(reports.retry(now: start + 9) == .report)
        reports.failed()
        #expect(reports.connected(now: start + 10) == .report)
    }

    @Test("A clock that is set back delays no report")
    func clockSetBack() {
        var reports = connected()
        #expect(reports.needed(now: start) == .report)
        #expect(reports.answered(now: start - 3600) == .report)
    }
}
