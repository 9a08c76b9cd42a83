import ContractRows
import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Resuming a connection")
struct ResumeStateTests {
    private var random = SplitMix64(seed: 1)
    private let busy = ChatError(.overloaded, "The server is busy.")

    private func group(_ number: Int) -> ConversationID { .group(try! Identifier("g\(number)")) }

    private func at(_ conversation: ConversationID, seq: Seq = 1, rev: Int64 = 0) -> LogPosition {
        LogPosition(conversation: conversation, epoch: Epoch(rawValue: 7), view: 1, seq: seq, rev: rev)
    }

    private func head(_ conversation: ConversationID) -> ConversationHead {
        ConversationHead(conversation: conversation, state: log(10))
    }

    private func event(_ conversation: ConversationID, _ seq: Seq) -> LiveEvent { .head(conversation, log(seq)) }

    /// A connected state with one window of these conversations, all of which are behind.
    private func online(behind conversations: [ConversationID]) -> (ResumeState, [ResumeAction]) {
        var resume = ResumeState()
        _ = resume.connected(cursor: nil)
        _ = resume.windowAnswered(1, heads: conversations.map(head), cursor: "a", isDone: true)
        let actions = resume.windowStored { at($0.conversation) }
        return (resume, actions)
    }

    @Test("Windows are requested one by one, and each is stored with its cursor before the next request")
    func windows() {
        var resume = ResumeState()
        #expect(resume.connected(cursor: "x") == [.pullWindow(request: 1, cursor: "x")])
        let heads = [head(swift)]
        #expect(
            resume.windowAnswered(1, heads: heads, cursor: "a", isDone: false) == [.storeHeads(heads, cursor: "a")])
        #expect(resume.windowStored { _ in nil } == [.pullWindow(request: 2, cursor: "a")])
        #expect(!resume.isResumed(swift))
        #expect(resume.windowAnswered(2, heads: [], cursor: "b", isDone: true) == [.storeHeads([], cursor: "b")])
        #expect(resume.windowStored { _ in nil } == [])
        #expect(resume.isResumed(swift))
    }

    @Test("Conversations that are behind are synced before all windows arrive, except kinds without replay", .rows(2))
    func syncRunsWhileWindowsArrive() {
        var resume = ResumeState()
        _ = resume.connected(cursor: nil)
        let channel = head(.community("city", channel: "general"))
        _ = resume.windowAnswered(1, heads: [head(swift), channel], cursor: "a", isDone: false)
        #expect(
            resume.windowStored { at($0.conversation) } == [
                .pullWindow(request: 2, cursor: "a"), .sync(batch: 3, [at(swift)]),
            ])
    }

    @Test("Conversations that were behind at the end of the last connection are synced without a window")
    func conversationsBehindSinceLastConnectionAreSynced() {
        var resume = ResumeState()
        #expect(
            resume.connected(cursor: "x", behind: [at(swift)]) == [
                .pullWindow(request: 1, cursor: "x"), .sync(batch: 2, [at(swift)]),
            ])
    }

    @Test("At most two sync requests of twenty conversations each are in flight")
    mutating func batches() {
        let all = (1...50).map(group)
        var (resume, actions) = online(behind: all)
        #expect(actions == [.sync(batch: 2, all[..<20].map { at($0) }), .sync(batch: 3, all[20..<40].map { at($0) })])
        #expect(!resume.isResumed(all[0]))
        actions = resume.syncAnswered(2, behind: [], now: noon, using: &random)
        #expect(actions == [.sync(batch: 4, all[40...].map { at($0) })])
        #expect(resume.isResumed(all[0]))
        #expect(!resume.isResumed(all[20]))
    }

    @Test("Live events wait in order until the missed messages before them are applied")
    mutating func holdsEvents() {
        var resume = ResumeState()
        let (g1, g2) = (group(1), group(2))
        _ = resume.connected(cursor: nil)
        #expect(resume.live(event(g1, 11)) == [])
        #expect(resume.live(event(g2, 11)) == [])
        #expect(resume.live(event(g1, 12)) == [])
        _ = resume.windowAnswered(1, heads: [head(g1), head(g2)], cursor: "a", isDone: true)
        #expect(
            resume.windowStored { $0.conversation == g1 ? at(g1) : nil } == [
                .sync(batch: 2, [at(g1)]), .release([event(g2, 11)]),
            ])
        #expect(resume.live(event(g1, 13)) == [])
        #expect(resume.live(event(g2, 12)) == [.release([event(g2, 12)])])
        #expect(
            resume.syncAnswered(2, behind: [], now: noon, using: &random) == [
                .release([event(g1, 11), event(g1, 12), event(g1, 13)])
            ])
        #expect(resume.heldCount == 0)
    }

    @Test("A conversation that advanced but is still behind is synced again at once", .history(21))
    mutating func conversationThatIsStillBehindIsSyncedAgain() {
        var (resume, _) = online(behind: [swift])
        _ = resume.live(event(swift, 20))
        #expect(
            resume.syncAnswered(2, behind: [at(swift, rev: 500)], now: noon, using: &random) == [
                .sync(batch: 3, [at(swift, rev: 500)])
            ])
        #expect(resume.heldCount == 1)
    }

    @Test("A conversation for which an answer had no room is synced again at once")
    mutating func omittedConversationIsSyncedAgain() {
        var (resume, _) = online(behind: [group(1), group(2)])
        #expect(
            resume.syncAnswered(2, behind: [at(group(2))], now: noon, using: &random) == [
                .sync(batch: 3, [at(group(2))])
            ])
    }

    @Test("A sync answer without progress is followed by a wait")
    mutating func waitsWithoutProgress() {
        var (resume, _) = online(behind: [swift])
        let actions = resume.syncAnswered(2, behind: [at(swift)], now: noon, using: &random)
        guard case .wake(let until)? = actions.first, actions.count == 1 else {
            Issue.record("The state did not wait: \(actions)")
            return
        }
        #expect(until > noon)
        #expect(resume.tick(now: noon) == [])
        #expect(resume.tick(now: until) == [.sync(batch: 3, [at(swift)])])
    }

    @Test("A resumed conversation that needs sync again holds its events until the answer")
    mutating func needsSyncLater() {
        var (resume, _) = online(behind: [])
        #expect(resume.needsSync(at(swift)) == [.sync(batch: 2, [at(swift)])])
        #expect(resume.live(event(swift, 11)) == [])
        #expect(resume.needsSync(at(swift, seq: 5)) == [])
        // A request during a sync leads to one more sync afterwards, never to two at a time.
        #expect(
            resume.syncAnswered(2, behind: [], now: noon, using: &random) == [.sync(batch: 3, [at(swift, seq: 5)])])
        #expect(
            resume.syncAnswered(3, behind: [], now: noon, using: &random) == [.release([event(swift, 11)])])
    }

    @Test("A sync is retried after a temporary failure, and its events are released after a permanent one")
    mutating func syncFails() {
        var (resume, _) = online(behind: [swift])
        _ = resume.live(event(swift, 11))
        let error = ChatError(.rateLimited, "Too many requests.", retryAfter: 9)
        #expect(resume.syncFailed(2, error, now: noon, using: &random) == [.wake(at: noon + 9)])
        #expect(!resume.isResumed(swift))
        #expect(resume.tick(now: noon + 9) == [.sync(batch: 3, [at(swift)])])
        #expect(
            resume.syncFailed(3, ChatError(.forbidden, "The request is refused."), now: noon, using: &random) == [
                .release([event(swift, 11)])
            ])
        #expect(resume.isResumed(swift))
    }

    @Test("A failed window is requested again, and from the start if the server refuses its cursor")
    mutating func windowFails() {
        var resume = ResumeState()
        _ = resume.connected(cursor: "x")
        guard case .wake(let first)? = resume.windowFailed(1, busy, now: noon, using: &random).first else {
            Issue.record("The state did not wait.")
            return
        }
        #expect(resume.tick(now: first) == [.pullWindow(request: 2, cursor: "x")])
        let error = ChatError(.invalidParameter, "The cursor is invalid.", retryAfter: 1)
        #expect(resume.windowFailed(2, error, now: noon, using: &random) == [.wake(at: noon + 1)])
        #expect(resume.tick(now: noon + 1) == [.pullWindow(request: 3, cursor: nil)])
    }

    @Test("Answers of an earlier connection are ignored")
    mutating func lateAnswers() {
        var (resume, _) = online(behind: [swift])
        resume.disconnected()
        #expect(!resume.isResumed(swift))
        #expect(resume.live(event(swift, 11)) == [])
        #expect(resume.heldCount == 0)
        #expect(resume.connected(cursor: "a") == [.pullWindow(request: 3, cursor: "a")])
        #expect(resume.syncAnswered(2, behind: [at(swift)], now: noon, using: &random) == [])
        #expect(resume.windowAnswered(1, heads: [], cursor: "late", isDone: true) == [])
        #expect(resume.needsSync(at(swift)) == [.sync(batch: 4, [at(swift)])])
    }

    @Test("Conversations are checked again if more events arrived than the client holds")
    mutating func overflow() {
        var (resume, _) = online(behind: [swift])
        for seq in 1...Seq(ResumeState.maximumHeldEvents + 5) { _ = resume.live(event(swift, seq)) }
        #expect(resume.heldCount == ResumeState.maximumHeldEvents)
        let actions = resume.syncAnswered(2, behind: [], now: noon, using: &random)
        guard actions.count == 2, case .release(let events) = actions[0] else {
            Issue.record("The state released nothing.")
            return
        }
        #expect(events.count == ResumeState.maximumHeldEvents)
        #expect(actions[1] == .recheck([swift]))
        #expect(!resume.isResumed(swift))
        #expect(resume.needsSync(at(swift)) == [.sync(batch: 3, [at(swift)])])
        _ = resume.syncAnswered(3, behind: [], now: noon, using: &random)
        #expect(resume.isResumed(swift))
    }
}
