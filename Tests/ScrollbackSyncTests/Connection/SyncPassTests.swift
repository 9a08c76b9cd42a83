import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("The order of sync passes")
struct SyncPassTests {
    @Test("A change during a pass needs another pass after it, and a change after a pass begins one immediately")
    func restart() {
        var pass = SyncPass()
        pass.began(isInterrupted: false)
        #expect(!pass.needsAnother)
        let beginsDuringPass = pass.needsRestart(isFetchingWindows: true)
        #expect(!beginsDuringPass && pass.needsAnother)
        pass.began(isInterrupted: false)
        #expect(!pass.needsAnother)
        let beginsAfterPass = pass.needsRestart(isFetchingWindows: false)
        #expect(beginsAfterPass && !pass.needsAnother)
    }

    @Test("Another pass follows one that continues an interrupted pass")
    func interrupted() {
        var pass = SyncPass()
        pass.began(isInterrupted: true)
        #expect(pass.needsAnother)
    }

    @Test("The window that was received last is the current one")
    func window() {
        var pass = SyncPass()
        #expect(!pass.window.isLast)
        var totals = UnreadTotals()
        totals.add(3, mentions: 1, kind: .group, isMuted: false)
        pass.received(.init(totals: totals))
        #expect(pass.window == .init(isLast: false, totals: totals, hasDrafts: false))
        pass.received(.init(isLast: true, hasDrafts: true))
        #expect(pass.window == .init(isLast: true, totals: nil, hasDrafts: true))
    }

    @Test("Subscriptions are checked once after consecutive passes of one connection")
    func subscriptionCheck() {
        var pass = SyncPass()
        pass.began(isInterrupted: false)
        #expect(checks(&pass) == [false, false])
        pass.restarted()
        pass.began(isInterrupted: false)
        #expect(checks(&pass) == [true, false])
        pass.restarted()
        pass.disconnected()
        #expect(checks(&pass) == [false, false])
    }

    private func checks(_ pass: inout SyncPass) -> [Bool] {
        [pass.takeSubscriptionCheck(), pass.takeSubscriptionCheck()]
    }
}
