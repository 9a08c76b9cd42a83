import ContractRows
import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("The pace of sending")
struct PaceTests {
    private var random = SplitMix64(seed: 1)
    private let ids = (1...200).map { MessageID(high: 0x7000, low: UInt64($0)) }

    private func stored(_ id: MessageID) -> Result<SendResult, ChatError> {
        .success(SendResult(outcome: .committed, id: id, timetoken: Timetoken(rawValue: 1), position: nil))
    }

    /// Answers each transmission immediately, and advances the time to the outbox's next wake-up.
    ///
    /// - Returns: The transmitted messages with their times.
    private mutating func run(_ outbox: inout Outbox, _ first: Outbox.Effects) -> [(id: MessageID, at: TimeInterval)] {
        var sent: [(MessageID, TimeInterval)] = []
        var (now, effects) = (noon, first)
        while true {
            var next: [MessageID] = effects.transmit
            while !next.isEmpty {
                let id = next.removeFirst()
                sent.append((id, now.timeIntervalSince(noon)))
                effects = outbox.answered(id, stored(id), now: now, using: &random)
                next += effects.transmit
            }
            guard let wake = outbox.wakeAt else { return sent }
            #expect(wake > now)
            now = wake
            effects = outbox.tick(now: now)
        }
    }

    @Test("200 messages are sent in queue order, five at once and then five per second")
    mutating func paced() {
        var outbox = Outbox(pace: .standard)
        for (index, id) in ids.enumerated() {
            // The messages belong to twenty conversations in turn.
            let conversation = ConversationID.group(try! Identifier("g\(index % 20)"))
            #expect(outbox.enqueue(id, in: conversation, now: noon).transmit.isEmpty)
        }
        let sent = run(&outbox, outbox.connected(now: noon))
        #expect(sent.map(\.id) == ids)
        #expect(outbox.isEmpty)
        #expect(sent.prefix(5).allSatisfy { $0.at == 0 })
        for (index, message) in sent.enumerated().dropFirst(5) {
            let turn = Double(index - 4) / 5
            #expect((turn...turn + 0.05 + Double(index) / 1000).contains(message.at), "\(index) at \(message.at)")
        }
    }

    @Test("A failed message does not pass its turn to messages behind it")
    mutating func failedHead() {
        var outbox = Outbox(pace: SendPace(perSecond: 1, burst: 1))
        let other = ConversationID.direct("bob")
        _ = outbox.connected(now: noon)
        _ = outbox.enqueue(ids[0], in: swift, now: noon)
        let refusal = Result<SendResult, ChatError>.failure(ChatError(.forbidden, "no"))
        _ = outbox.answered(ids[0], refusal, now: noon, using: &random)
        _ = outbox.enqueue(ids[1], in: other, now: noon)
        _ = outbox.enqueue(ids[2], in: swift, now: noon)
        #expect(outbox.tick(now: noon + 1).transmit == [ids[1]])
    }

    @Test("Changes to messages ignore the pace and do not count toward it")
    func changes() {
        var outbox = Outbox(pace: SendPace(perSecond: 1, burst: 1))
        _ = outbox.connected(now: noon)
        #expect(outbox.enqueue(ids[0], in: swift, now: noon).transmit == [ids[0]])
        let other = ConversationID.direct("bob")
        #expect(outbox.enqueue(ids[1], in: other, now: noon).transmit.isEmpty)
        let third = ConversationID.direct("carol")
        #expect(outbox.enqueue(ids[2], in: third, isMessage: false, now: noon).transmit == [ids[2]])
        #expect(outbox.wakeAt == noon + 1.001)
        #expect(outbox.tick(now: noon + 1.001).transmit == [ids[1]])
    }

    @Test("With failing excess, the sixth message within a second fails and can be retried", .contract("check 8"))
    mutating func failing() {
        var outbox = Outbox(pace: SendPace(excess: .fails))
        _ = outbox.connected(now: noon)
        for id in ids.prefix(5) { _ = outbox.enqueue(id, in: swift, now: noon) }
        let sixth = outbox.enqueue(ids[5], in: swift, now: noon + 0.1)
        guard case .failed(let error) = sixth.changed.first?.state else {
            Issue.record("\(sixth)")
            return
        }
        #expect(error.code == .rateLimited && error.limit == 5 && error.isTemporary)
        #expect((0.09...0.11).contains(error.retryAfter ?? 0))
        // The other messages are sent without it.
        var sent = run(&outbox, Outbox.Effects())
        let first = outbox.answered(ids[0], stored(ids[0]), now: noon, using: &random)
        sent = run(&outbox, first)
        #expect(sent.map(\.id) == Array(ids[1...4]))
        let again = outbox.retry(ids[5], now: noon + 1)
        #expect(again.transmit == [ids[5]])
        #expect(outbox.enqueue(ids[6], in: swift, now: noon + 1).changed.first?.state == .queued)
    }

    @Test("Messages that were queued before a restart keep the pace")
    mutating func restored() {
        var outbox = Outbox(pace: .standard)
        for id in ids.prefix(12) { _ = outbox.enqueue(id, in: swift, now: noon) }
        var again = Outbox(restoring: outbox.items, pace: .standard)
        let sent = run(&again, again.connected(now: noon))
        #expect(sent.map(\.id) == Array(ids.prefix(12)))
        #expect((1.39...1.5).contains(sent.last?.at ?? 0))
    }
}
