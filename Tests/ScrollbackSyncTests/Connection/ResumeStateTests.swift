import ContractRows
import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Coming online")
struct ResumeStateTests {
    private var random = SplitMix64(seed: 1)
    private let busy = ChatError(.overloaded, "is busy")

    private func group(_ number: Int) -> ConversationID { .group(try! Identifier("g\(number)")) }

    private func at(_ conversation: ConversationID, seq: Seq = 1, rev: Int64 = 0) -> LogPosition {
        LogPosition(conversation: conversation, epoch: Epoch(rawValue: 7), view: 1, seq: seq, rev: rev)
    }

    private func head(_ conversation: ConversationID) -> ConversationHead {
        ConversationHead(conversation: conversation, state: log(10))
    }

    private func event(_ conversation: ConversationID, _ seq: Seq) -> LiveEvent { .head(conversation, log(seq)) }

    /// Online with one window of these conversations, all of which are behind.
    private func online(behind conversations: [ConversationID]) -> (ResumeState, [ResumeAction]) {
        var resume = ResumeState()
        _ = resume.connected(cursor: nil)
        _ = resume.windowAnswered(1, heads: conversations.map(head), cursor: "a", isDone: true)
        let actions = resume.windowStored { at($0.conversation) }
        return (resume, actions)
    }

    @Test("Windows are pulled one after another, each stored with its cursor before the next")
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

    @Test("What is behind is asked for before all windows are there; kinds without replay are not", .rows(2))
    func syncsWhileWindowsCome() {
        var resume = ResumeState()
        _ = resume.connected(cursor: nil)
        let channel = head(.community("city", channel: "general"))
        _ = resume.windowAnswered(1, heads: [head(swift), channel], cursor: "a", isDone: false)
        #expect(
            resume.windowStored { at($0.conversation) } == [
                .pullWindow(request: 2, cursor: "a"), .sync(batch: 3, [at(swift)]),
            ])
    }

    @Test("Conversations that were behind when the last connection ended are asked for, though no window lists them")
    func behindSinceEarlier() {
        var resume = ResumeState()
        #expect(
            resume.connected(cursor: "x", behind: [at(swift)]) == [
                .pullWindow(request: 1, cursor: "x"), .sync(batch: 2, [at(swift)]),
            ])
    }

    @Test("At most two requests of twenty conversations are in flight")
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

    @Test("Live events wait until what was missed before them was applied, and keep their order")
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

    @Test("History 21: a conversation that got further but is still behind is asked for again at once")
    mutating func asksOn() {
        var (resume, _) = online(behind: [swift])
        _ = resume.live(event(swift, 20))
        #expect(
            resume.syncAnswered(2, behind: [at(swift, rev: 500)], now: noon, using: &random) == [
                .sync(batch: 3, [at(swift, rev: 500)])
            ])
        #expect(resume.heldCount == 1)
    }

    @Test("What an answer had no room for is asked for again at once")
    mutating func noRoom() {
        var (resume, _) = online(behind: [group(1), group(2)])
        #expect(
            resume.syncAnswered(2, behind: [at(group(2))], now: noon, using: &random) == [
                .sync(batch: 3, [at(group(2))])
            ])
    }

    @Test("An answer that got nobody further is followed by a wait")
    mutating func waitsWithoutProgress() {
        var (resume, _) = online(behind: [swift])
        let actions = resume.syncAnswered(2, behind: [at(swift)], now: noon, using: &random)
        guard case .wake(let until)? = actions.first, actions.count == 1 else {
            Issue.record("did not wait: \(actions)")
            return
        }
        #expect(until > noon)
        #expect(resume.tick(now: noon) == [])
        #expect(resume.tick(now: until) == [.sync(batch: 3, [at(swift)])])
    }

    @Test("An edit that says so asks for a resumed conversation again, and holds its events meanwhile")
    mutating func needsSyncLater() {
        var (resume, _) = online(behind: [])
        #expect(resume.needsSync(at(swift)) == [.sync(batch: 2, [at(swift)])])
        #expect(resume.live(event(swift, 11)) == [])
        #expect(resume.needsSync(at(swift, seq: 5)) == [])
        // Asked for while in flight: once more afterwards, never twice at a time.
        #expect(
            resume.syncAnswered(2, behind: [], now: noon, using: &random) == [.sync(batch: 3, [at(swift, seq: 5)])])
        #expect(
            resume.syncAnswered(3, behind: [], now: noon, using: &random) == [.release([event(swift, 11)])])
    }

    @Test("A temporary failure is tried again after a wait, a permanent one lets go")
    mutating func syncFails() {
        var (resume, _) = online(behind: [swift])
        _ = resume.live(event(swift, 11))
        let error = ChatError(.rateLimited, "too many", retryAfter: 9)
        #expect(resume.syncFailed(2, error, now: noon, using: &random) == [.wake(at: noon + 9)])
        #expect(!resume.isResumed(swift))
        #expect(resume.tick(now: noon + 9) == [.sync(batch: 3, [at(swift)])])
        #expect(
            resume.syncFailed(3, ChatError(.forbidden, "no"), now: noon, using: &random) == [
                .release([event(swift, 11)])
            ])
        #expect(resume.isResumed(swift))
    }

    @Test("A window that fails is pulled again; one that can't be had from its cursor, from the beginning")
    mutating func windowFails() {
        var resume = ResumeState()
        _ = resume.connected(cursor: "x")
        guard case .wake(let first)? = resume.windowFailed(1, busy, now: noon, using: &random).first else {
            Issue.record("did not wait")
            return
        }
        #expect(resume.tick(now: first) == [.pullWindow(request: 2, cursor: "x")])
        let error = ChatError(.invalidParameter, "is no cursor", retryAfter: 1)
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

    @Test("Of more events than are held, the conversations are looked at again")
    mutating func overflow() {
        var (resume, _) = online(behind: [swift])
        for seq in 1...Seq(ResumeState.heldEvents + 5) { _ = resume.live(event(swift, seq)) }
        #expect(resume.heldCount == ResumeState.heldEvents)
        let actions = resume.syncAnswered(2, behind: [], now: noon, using: &random)
        guard actions.count == 2, case .release(let events) = actions[0] else {
            Issue.record("released nothing")
            return
        }
        #expect(events.count == ResumeState.heldEvents)
        #expect(actions[1] == .recheck([swift]))
        #expect(!resume.isResumed(swift))
        #expect(resume.needsSync(at(swift)) == [.sync(batch: 3, [at(swift)])])
        _ = resume.syncAnswered(3, behind: [], now: noon, using: &random)
        #expect(resume.isResumed(swift))
    }
}
