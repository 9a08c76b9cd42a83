import Foundation
import ScrollbackModel
import ScrollbackSync

/// An outbox that records its calls.
struct RecordedOutbox {
    private var machine: Outbox
    var history: VectorHistory?

    init(restoring items: [OutboxItem] = [], pace: SendPace? = nil, seed: UInt64? = nil) {
        machine = Outbox(restoring: items, pace: pace)
        history = seed.map {
            VectorHistory("outbox", seed: $0, start: ["items": items.vector, "pace": pace.vector])
        }
    }

    var isEmpty: Bool { machine.isEmpty }
    var items: [OutboxItem] { machine.items }
    var wakeAt: Date? { machine.wakeAt }
    subscript(id: MessageID) -> OutboxItem? { machine[id] }

    mutating func enqueue(
        _ id: MessageID, in conversation: ConversationID, isMessage: Bool = true, needsUpload: Bool = false, now: Date
    ) -> Outbox.Effects {
        let effects = machine.enqueue(
            id, in: conversation, isMessage: isMessage, needsUpload: needsUpload, now: now)
        return record(
            "enqueue",
            [
                "id": id.vector, "conversation": conversation.vector, "isMessage": isMessage.vector,
                "needsUpload": needsUpload.vector, "now": now.vector,
            ], effects)
    }

    mutating func requeue(_ item: OutboxItem, now: Date) -> Outbox.Effects {
        let effects = machine.requeue(item, now: now)
        return record("requeue", ["item": item.vector, "now": now.vector], effects)
    }

    mutating func connected(now: Date) -> Outbox.Effects {
        let effects = machine.connected(now: now)
        return record("connected", ["now": now.vector], effects)
    }

    mutating func disconnected() -> Outbox.Effects {
        let effects = machine.disconnected()
        return record("disconnected", [:], effects)
    }

    mutating func tick(now: Date) -> Outbox.Effects {
        let effects = machine.tick(now: now)
        return record("tick", ["now": now.vector], effects)
    }

    mutating func answered<Answer>(
        _ id: MessageID, _ result: Result<Answer, ChatError>, now: Date, using generator: inout RecordedFractions
    ) -> Outbox.Effects {
        let effects = machine.answered(id, result, now: now, using: &generator)
        let random = generator.takeDrawn()
        return record(
            "answered", ["id": id.vector, "error": result.error.vector, "now": now.vector], effects, random: random)
    }

    mutating func uploaded(
        _ id: MessageID, _ result: Result<Void, ChatError>, now: Date, using generator: inout RecordedFractions
    ) -> Outbox.Effects {
        let effects = machine.uploaded(id, result, now: now, using: &generator)
        let random = generator.takeDrawn()
        return record(
            "uploaded", ["id": id.vector, "error": result.error.vector, "now": now.vector], effects, random: random)
    }

    mutating func reupload(_ id: MessageID, now: Date) -> Outbox.Effects? {
        let effects = machine.reupload(id, now: now)
        record("reupload", ["id": id.vector, "now": now.vector], returned: effects.vector)
        return effects
    }

    mutating func retry(_ id: MessageID, now: Date) -> Outbox.Effects {
        let effects = machine.retry(id, now: now)
        return record("retry", ["id": id.vector, "now": now.vector], effects)
    }

    mutating func cancel(_ id: MessageID, now: Date) -> (Outbox.Cancellation, Outbox.Effects) {
        let (cancellation, effects) = machine.cancel(id, now: now)
        let returned: VectorValue = [
            "cancellation": .text(String(describing: cancellation)), "effects": effects.vector,
        ]
        record("cancel", ["id": id.vector, "now": now.vector], returned: returned)
        return (cancellation, effects)
    }

    private mutating func record(
        _ call: String, _ arguments: @autoclosure () -> VectorValue, _ effects: Outbox.Effects, random: [Double] = []
    ) -> Outbox.Effects {
        record(call, arguments(), random: random, returned: effects.vector)
        return effects
    }

    private mutating func record(
        _ call: String, _ arguments: @autoclosure () -> VectorValue, random: [Double] = [],
        returned: @autoclosure () -> VectorValue
    ) {
        let machine = machine
        history?.record(
            call, arguments(), random: random, returned: returned(),
            state: [
                "isConnected": machine.isConnected.vector, "isEmpty": machine.isEmpty.vector,
                "items": .list(machine.items.map { [$0.id.vector, .text($0.state.name)] }),
            ])
    }
}

extension Result {
    fileprivate var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension SendPace: VectorEncodable {
    var vector: VectorValue {
        ["perSecond": perSecond.vector, "burst": burst.vector, "excess": excess == .waits ? "waits" : "fails"]
    }
}

extension OutboxItem.State {
    fileprivate var name: String {
        switch self {
        case .queued: "queued"
        case .uploading: "uploading"
        case .sending: "sending"
        case .waiting: "waiting"
        case .failed: "failed"
        }
    }
}

extension OutboxItem: VectorEncodable {
    var vector: VectorValue {
        var state: [(String, VectorValue)] = [("type", .text(state.name))]
        switch self.state {
        case .waiting(let until): state.append(("until", until.vector))
        case .failed(let error): state.append(("error", error.vector))
        case .queued, .uploading, .sending: break
        }
        return [
            "id": id.vector, "conversation": conversation.vector, "ordinal": ordinal.vector,
            "createdAt": createdAt.vector, "isMessage": isMessage.vector, "state": .object(state),
            "needsUpload": needsUpload.vector, "attempts": attempts.vector, "wasTransmitted": wasTransmitted.vector,
        ]
    }
}

extension Outbox.Effects: VectorEncodable {
    var vector: VectorValue {
        [
            "changed": changed.vector, "removed": removed.vector, "upload": upload.vector,
            "stopUpload": stopUpload.vector, "transmit": transmit.vector, "wakeAt": wakeAt.vector,
        ]
    }
}

extension RecordedOutbox {
    /// Records random calls, with files, rates, refusals and long waits.
    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        let conversations: [ConversationID] = [.group("swift"), .direct("bob"), .direct("me")]
        let ids = (0..<12).map { _ in
            MessageID(high: 0x7000, low: UInt64(random.below(1 << 40)))
        }
        let excess: SendPace.Excess = random.pick([.waits, .fails])
        let pace = SendPace(perSecond: random.pick([0.5, 2, 3]), burst: 1 + random.below(3), excess: excess)
        func item(_ id: MessageID, ordinal: Int64) -> OutboxItem {
            let state: OutboxItem.State = random.pick([
                .queued, .sending, .uploading, .waiting(until: random.now + 3), .failed(ChatError(.forbidden, "No.")),
            ])
            return OutboxItem(
                id: id, conversation: random.pick(conversations), ordinal: ordinal,
                createdAt: random.now - random.pick([10, Outbox.lifetime - 5, Outbox.lifetime + 1]),
                isMessage: random.chance(80), state: state, needsUpload: random.chance(30), attempts: random.below(4),
                wasTransmitted: random.flag())
        }
        let restored = (0..<random.below(4)).map { item(ids[$0], ordinal: Int64($0 + 1)) }
        var outbox = RecordedOutbox(restoring: restored, pace: random.chance(60) ? pace : nil, seed: seed)
        for _ in 0..<40 {
            random.advance()
            if random.chance(25) { random.advance(to: outbox.wakeAt) }
            if random.chance(3) { random.advance(to: random.now + Outbox.minimumReuploadInterval) }
            let now = random.now
            let states = outbox.items.filter { random.chance(40) || $0.state == .sending || $0.state == .uploading }
            let id = random.chance(80) ? states.map(\.id).first ?? random.pick(ids) : random.pick(ids)
            let error = random.error()
            switch random.below(24) {
            case 0..<8:
                _ = outbox.enqueue(
                    random.pick(ids), in: random.pick(conversations), isMessage: random.chance(80),
                    needsUpload: random.chance(30), now: now)
            case 8..<10: _ = outbox.connected(now: now)
            case 10: if random.flag() { _ = outbox.disconnected() }
            case 11..<13: _ = outbox.tick(now: now)
            case 13..<17:
                let result: Result<Int, ChatError> = random.chance(50) ? .success(1) : .failure(error)
                _ = outbox.answered(id, result, now: now, using: &random.fractions)
            case 17..<19:
                let result: Result<Void, ChatError> = random.chance(60) ? .success(()) : .failure(error)
                _ = outbox.uploaded(id, result, now: now, using: &random.fractions)
            case 19: _ = outbox.reupload(id, now: now)
            case 20: _ = outbox.retry(id, now: now)
            case 21: _ = outbox.cancel(id, now: now)
            default:
                let id = random.pick(ids)
                let ordinal = Int64(random.below(100))
                // The order of items with the same ordinal is undefined.
                guard outbox[id] == nil, !outbox.items.contains(where: { $0.ordinal == ordinal }) else { continue }
                _ = outbox.requeue(item(id, ordinal: ordinal), now: now)
            }
        }
        return outbox.history
    }
}
