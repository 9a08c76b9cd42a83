import ContractRows
import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("The outbox")
struct OutboxTests {
    private var random = SplitMix64(seed: 1)
    private let m1 = MessageID(high: 0x7000, low: 1)
    private let m2 = MessageID(high: 0x7000, low: 2)
    private let m3 = MessageID(high: 0x7000, low: 3)
    private let other: ConversationID = .direct("bob")

    private func stored(_ id: MessageID, _ outcome: SendResult.Outcome = .committed) -> Result<SendResult, ChatError> {
        let position = SendResult.Position(seq: 1, countedIndex: 1, epoch: Epoch(rawValue: 7))
        return .success(
            SendResult(outcome: outcome, id: id, timetoken: Timetoken(rawValue: 1), position: position))
    }

    private func refused(_ code: ChatError.Code, after seconds: TimeInterval? = nil) -> Result<SendResult, ChatError> {
        .failure(ChatError(code, "no", retryAfter: seconds))
    }

    /// A connected outbox with m1 and m2 in one conversation and m1 in flight.
    private func busy() -> Outbox {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        _ = outbox.enqueue(m1, in: swift, now: noon)
        _ = outbox.enqueue(m2, in: swift, now: noon)
        return outbox
    }

    @Test("Messages queued offline are sent on connecting, one per conversation and in order")
    mutating func offlineFirst() {
        var outbox = Outbox()
        #expect(outbox.enqueue(m1, in: swift, now: noon).transmit.isEmpty)
        _ = outbox.enqueue(m2, in: swift, now: noon)
        _ = outbox.enqueue(m3, in: other, now: noon)
        let effects = outbox.connected(now: noon)
        #expect(effects.transmit == [m1, m3])
        #expect(effects.changed.map(\.state) == [.sending, .sending])
        #expect(effects.changed.allSatisfy { $0.wasTransmitted && $0.attempts == 1 })
        let next = outbox.answered(m1, stored(m1), now: noon, using: &random)
        #expect(next.removed == [m1])
        #expect(next.transmit == [m2])
    }

    @Test("An item is recorded as transmitted in the same effects that transmit it")
    func transmittedFirst() {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        let effects = outbox.enqueue(m1, in: swift, now: noon)
        #expect(effects.transmit == [m1])
        #expect(effects.changed.count == 1)
        #expect(effects.changed.first?.wasTransmitted == true)
        #expect(outbox.enqueue(m1, in: swift, now: noon) == Outbox.Effects())
    }

    @Test("A message that is refused with 429 is still sent before the next one", .history(18))
    mutating func throttledMessageStaysFirst() {
        var outbox = busy()
        let effects = outbox.answered(m1, refused(.rateLimited, after: 20), now: noon, using: &random)
        #expect(effects.transmit.isEmpty)
        let wake = effects.wakeAt ?? noon
        #expect((20...30).contains(wake.timeIntervalSince(noon)))
        #expect(outbox.tick(now: wake - 0.1).transmit.isEmpty)
        #expect(outbox.tick(now: wake).transmit == [m1])
        #expect(outbox.answered(m1, stored(m1), now: noon, using: &random).transmit == [m2])
    }

    @Test("Temporary refusals without a retry time wait longer after every attempt")
    mutating func backsOff() {
        var outbox = busy()
        var now = noon
        var waits: [TimeInterval] = []
        for _ in 1...10 {
            let until = outbox.answered(m1, refused(.overloaded), now: now, using: &random).wakeAt ?? now
            waits.append(until.timeIntervalSince(now))
            now = until
            #expect(outbox.tick(now: now).transmit == [m1])
        }
        #expect((0.25...0.5).contains(waits[0]))
        #expect((1...2).contains(waits[2]))
        #expect((15...30).contains(waits[9]))
    }

    @Test("Waits after refusals with a retry time are randomized and increase")
    mutating func waitsAreRandomized() {
        var first: Set<TimeInterval> = []
        for _ in 1...20 {
            var outbox = busy()
            let wake = outbox.answered(m1, refused(.overloaded, after: 1), now: noon, using: &random).wakeAt ?? noon
            first.insert(wake.timeIntervalSince(noon))
        }
        #expect(first.count > 10 && first.allSatisfy { (1...1.5).contains($0) })
        var outbox = busy()
        var now = noon
        var waits: [TimeInterval] = []
        for _ in 1...10 {
            let until = outbox.answered(m1, refused(.overloaded, after: 1), now: now, using: &random).wakeAt ?? now
            waits.append(until.timeIntervalSince(now))
            now = until
            _ = outbox.tick(now: now)
        }
        #expect((15...30).contains(waits[9]) && waits.allSatisfy { $0 >= 1 })
    }

    @Test("A permanent refusal fails the message, and the next one is sent")
    mutating func permanentRefusal() {
        var outbox = busy()
        let error = ChatError(.notMember, "no")
        let effects = outbox.answered(m1, Result<SendResult, ChatError>.failure(error), now: noon, using: &random)
        #expect(effects.transmit == [m2])
        #expect(outbox[m1]?.state == .failed(error))
        #expect(!outbox.isEmpty)
    }

    @Test("A failed message is retried with its ID before messages that were queued later")
    mutating func retryKeepsIDAndPlace() {
        var outbox = busy()
        _ = outbox.enqueue(m3, in: swift, now: noon)
        _ = outbox.answered(m1, refused(.forbidden), now: noon, using: &random)
        #expect(outbox.retry(m1, now: noon).transmit.isEmpty)
        let effects = outbox.answered(m2, stored(m2), now: noon, using: &random)
        #expect(effects.transmit == [m1])
        #expect(outbox.items.map(\.id) == [m1, m3])
    }

    @Test("A waiting message can be retried immediately")
    mutating func retryWaiting() {
        var outbox = busy()
        _ = outbox.answered(m1, refused(.overloaded, after: 60), now: noon, using: &random)
        #expect(outbox.retry(m1, now: noon).transmit == [m1])
    }

    @Test("After a lost acknowledgement, the message is sent again with the same ID", .history(19))
    mutating func lostAcknowledgement() {
        var outbox = busy()
        let effects = outbox.disconnected()
        #expect(effects.changed.map(\.id) == [m1])
        #expect(outbox[m1]?.state == .queued)
        #expect(outbox[m1]?.wasTransmitted == true)
        #expect(outbox.connected(now: noon).transmit == [m1])
        #expect(outbox.answered(m1, stored(m1, .duplicate), now: noon, using: &random).removed == [m1])
    }

    @Test("A message with an unknown outcome counts as transmitted, so that an edit has to follow it", .history(20))
    func transmittedAfterUnknown() {
        var outbox = busy()
        _ = outbox.disconnected()
        #expect(outbox[m1]?.wasTransmitted == true)
        #expect(outbox[m2]?.wasTransmitted == false)
    }

    @Test("A new epoch does not change the outbox", .history(17))
    mutating func epochChange() {
        var outbox = Outbox()
        _ = outbox.enqueue(m1, in: swift, now: noon)
        var log = LogState(adopting: log(10))
        _ = log.apply(head: ScrollbackSyncTests.log(3, epoch: 8))
        #expect(outbox.connected(now: noon).transmit == [m1])
        let position = SendResult.Position(seq: 4, countedIndex: 4, epoch: Epoch(rawValue: 8))
        let result = SendResult(outcome: .committed, id: m1, timetoken: Timetoken(rawValue: 1), position: position)
        #expect(outbox.answered(m1, .success(result), now: noon, using: &random).removed == [m1])
    }

    @Test("A late success is accepted, and a late refusal is ignored")
    mutating func lateAnswers() {
        var outbox = busy()
        _ = outbox.disconnected()
        #expect(outbox.answered(m1, refused(.forbidden), now: noon, using: &random).changed.isEmpty)
        #expect(outbox[m1]?.state == .queued)
        #expect(outbox.answered(m1, stored(m1), now: noon, using: &random).removed == [m1])
        #expect(outbox.answered(m1, stored(m1), now: noon, using: &random).removed.isEmpty)
        #expect(outbox.connected(now: noon).transmit == [m2])
    }

    @Test("After a restart, messages in flight are queued with their IDs before new ones")
    func restoring() {
        let kept = busy().items
        var outbox = Outbox(restoring: kept.reversed())
        #expect(outbox.items.map(\.id) == [m1, m2])
        #expect(outbox.items.map(\.state) == [.queued, .queued])
        _ = outbox.enqueue(m3, in: swift, now: noon)
        #expect(outbox.items.map(\.id) == [m1, m2, m3])
        #expect(outbox.connected(now: noon).transmit == [m1])
    }

    @Test("A message older than 180 days fails as expired, and the next one is sent")
    func expired() {
        var outbox = Outbox()
        _ = outbox.enqueue(m1, in: swift, now: noon)
        _ = outbox.enqueue(m2, in: swift, now: noon + 60)
        let effects = outbox.connected(now: noon + Outbox.lifetime + 30)
        #expect(effects.transmit == [m2])
        guard case .failed(let error)? = outbox[m1]?.state else {
            Issue.record("m1 did not fail.")
            return
        }
        #expect(error.code == .expired)
    }

    @Test("Cancelling a message that was never sent succeeds")
    func cancelQueued() {
        var outbox = busy()
        let (outcome, effects) = outbox.cancel(m2, now: noon)
        #expect(outcome == .cancelled)
        #expect(effects.removed == [m2])
        #expect(outbox.cancel(m2, now: noon).0 == .unknown)
    }

    @Test("A message in flight can't be cancelled, and cancelling it later reports that it may be stored")
    mutating func cancelTransmitted() {
        var outbox = busy()
        #expect(outbox.cancel(m1, now: noon).0 == .inFlight)
        _ = outbox.answered(m1, refused(.overloaded), now: noon, using: &random)
        let (outcome, effects) = outbox.cancel(m1, now: noon)
        #expect(outcome == .mayHaveBeenStored)
        #expect(effects.transmit == [m2])
        #expect(effects.wakeAt == nil)
    }
}
