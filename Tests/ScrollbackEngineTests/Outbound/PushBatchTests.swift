import Foundation
import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

/// Tests how the pushes of a page are sent, and when their results are stored.
@Suite("A batch of pushes")
struct PushBatchTests {
    private let now = Date(timeIntervalSince1970: 1_795_255_200)

    private func batch(_ count: Int) -> PushBatch {
        PushBatch((0..<count).map(DuePush.numbered), retryDelay: .exact)
    }

    @Test("The batch is stored and finished when all answers arrived")
    func allAnswered() {
        var random = SplitMix64(seed: 1)
        var batch = batch(2)
        #expect(batch.next().map(\.0) == [0, 1] && batch.next().isEmpty)
        #expect(batch.answer(0, .sent, now: now, using: &random)?.count == .sent)
        #expect(batch.answer(0, .sent, now: now, using: &random) == nil, "the second answer to a push is ignored")
        #expect(batch.answer(1, .refused("BadTopic"), now: now, using: &random)?.count == .refused)
        let change = batch.change(now: now, otherLate: 0)
        #expect(change?.answered.count == 2 && change?.leased.isEmpty == true && change?.closesPage == true)
        batch.stored([:])
        #expect(batch.isFinished)
    }

    @Test("Pushes without an answer are reserved when the page closes, and the reservation is renewed after half of it")
    func lateAnswersAreReserved() {
        var batch = batch(1)
        _ = batch.next()
        var reserved = batch.change(now: now, otherLate: 0)?.leased ?? [:]
        #expect(reserved.mapValues(\.notBefore) == [0: now + PushBatch.lease])
        reserved[0]?.number = 7
        batch.stored(reserved)
        #expect(!batch.isFinished && batch.change(now: now + PushBatch.lease / 2, otherLate: 0) == nil)
        let renewed = batch.change(now: now + PushBatch.lease / 2 + 1, otherLate: 0)
        #expect(renewed?.closesPage == false && renewed?.leased[0]?.number == 7)
        #expect(renewed?.leased[0]?.notBefore == now + PushBatch.lease * 1.5 + 1)
    }

    @Test("A page stays open while too many answers are late")
    func pageStaysOpen() {
        var batch = batch(1)
        _ = batch.next()
        #expect(batch.change(now: now, otherLate: PushBatch.maximumLateAnswers) == nil)
        #expect(batch.change(now: now, otherLate: PushBatch.maximumLateAnswers - 1) != nil)
    }

    @Test("A push is retried with increasing delays, no earlier than the service requested, and for a day at most")
    func retries() {
        var random = SplitMix64(seed: 1)
        func answer(_ push: DuePush, _ after: Double?, _ now: Date) -> AnsweredPush? {
            var batch = PushBatch([push], retryDelay: .exact)
            _ = batch.next()
            return batch.answer(0, .later(after: after, "busy"), now: now, using: &random)
        }
        var push = DuePush.numbered(0)
        for (index, wait) in [1.0, 2, 4, 8].enumerated() {
            let retry = answer(push, nil, now + Double(index))?.retry
            #expect(retry?.attempts == Int64(index + 1) && retry?.notBefore == now + Double(index) + wait)
            #expect(retry?.firstTriedAt == now)
            push.retry = retry
        }
        #expect(answer(push, 500, now)?.retry?.notBefore == now + 500)
        #expect(answer(push, nil, now + 86_399)?.count == .later)
        let expired = answer(push, nil, now + 86_400)
        #expect(expired?.count == .expired && expired?.retry == nil)
    }

    @Test("Random answers: each push is sent once, and either settled or reserved at any time after the page closed")
    func randomAnswers() async {
        for seed in Seeds.range(500) {
            await Task.yield()
            var scenario = Scenario(seed: seed)
            if let violation = scenario.run() {
                Issue.record("\(violation)\nReplay: SCROLLBACK_SEED=\(seed) swift test --filter PushBatchTests")
                return
            }
        }
    }
}

/// A page of pushes with random answers, and its retry rows in the store.
private struct Scenario {
    private var random: SplitMix64
    private let count: Int
    private var batch: PushBatch
    private var now = Date(timeIntervalSince1970: 1_795_255_200)
    private var sent: Set<Int> = []
    private var sending: Set<Int> = []
    private var outcomes: [Int: PushOutcome] = [:]
    /// The pushes whose results are stored.
    private var settled: Set<Int> = []
    private var rows: [Int64: (push: Int, row: PushRetryRow)] = [:]
    private var isClosed = false
    private var violation: String?

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        count = Int.random(in: 0...150, using: &random)
        batch = PushBatch((0..<count).map(DuePush.numbered), retryDelay: .exact)
    }

    mutating func run() -> String? {
        while !batch.isFinished, violation == nil {
            for (number, _) in batch.next() {
                check(sent.insert(number).inserted, "Push \(number) is sent twice.")
                sending.insert(number)
            }
            check(sending.count <= PushBatch.maximumConcurrentSends, "Too many pushes are sent concurrently.")
            check(
                sending.count == min(batch.openCount, PushBatch.maximumConcurrentSends), "A push waits for no reason.")
            if let number = sending.randomElement(using: &random), Int.random(in: 0..<20, using: &random) > 0 {
                let outcome: PushOutcome =
                    [.sent, .sent, .refused("no"), .gone(since: nil), .later(after: nil, "busy")]
                    .randomElement(using: &random)!
                _ = batch.answer(number, outcome, now: now, using: &random)
                sending.remove(number)
                outcomes[number] = outcome
                if batch.openCount == 0 { store() }
            } else {
                now += TimeInterval.random(in: 1...3, using: &random)
                check(
                    !isClosed || sending.allSatisfy { number in rows.values.contains { $0.push == number } },
                    "A crash would lose a push.")
                check(
                    rows.values.allSatisfy { $0.row.notBefore > now || outcomes[$0.push] != nil },
                    "A push in progress would be retried.")
                store()
            }
        }
        check(settled.count == count, "Some pushes are not settled.")
        let later = outcomes.filter { if case .later = $0.value { true } else { false } }
        check(Set(rows.values.map(\.push)) == Set(later.keys), "Other pushes than those to retry have rows.")
        check(rows.count == later.count && rows.values.allSatisfy { $0.row.attempts == 1 }, "A retry has two rows.")
        return violation
    }

    private mutating func store() {
        guard let change = batch.change(now: now, otherLate: 0) else { return }
        check(change.closesPage == !isClosed, "The page is closed twice.")
        for push in change.answered {
            let number = Int(push.due.push.number)
            check(settled.insert(number).inserted, "Push \(number) is settled twice.")
            if let retry = push.retry {
                put(retry, number)
            } else if let row = push.due.retry {
                rows[row.number] = nil
            }
        }
        batch.stored(Dictionary(uniqueKeysWithValues: change.leased.map { ($0, put($1, $0)) }))
        isClosed = true
        check(settled == Set(outcomes.keys), "The result of a push is not stored.")
    }

    @discardableResult
    private mutating func put(_ row: PushRetryRow, _ push: Int) -> PushRetryRow {
        var row = row
        if row.number == 0 { row.number = (rows.keys.max() ?? 0) + 1 }
        rows[row.number] = (push, row)
        return row
    }

    private mutating func check(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition, violation == nil { violation = message() }
    }
}

extension RetryDelay {
    fileprivate static let exact = RetryDelay(first: 1, maximum: 60, jitter: 1...1)
}

extension DuePush {
    /// A push of a page.
    fileprivate static func numbered(_ number: Int) -> DuePush {
        let message = MessageID(high: 0x0198_0000_0000_7000, low: 0x8000_0000_0000_0000)
        let target = PushTarget(
            conversation: .direct("alice"), seq: 1, epoch: nil, message: message, sender: "alice", type: .text,
            receiver: "bob")
        let notification = PushNotification(
            id: UUID(), device: PushDevice(id: Identifier(known: "phone\(number)"), service: .apns, token: "aa"),
            text: PushText(title: "alice", body: "hi"), badge: 1, target: target,
            expiresAt: Date(timeIntervalSince1970: 1_800_000_000))
        return DuePush(
            user: "bob", notification: notification,
            push: PushRow(number: Int64(number), conversation: 1, kind: .message, seq: 1))
    }
}
