import ScrollbackModel
import ScrollbackSync

/// Random calls of the state machine that fetches heads.
enum RecordedHeadFetches {
    private static let conversations: [ConversationID] = [
        .direct("bob"), .group("swift"), .group("a/b:c%d"), .community("city"), .community("city", channel: "general"),
        .room("lobby"), .room("z\u{FFFD}"), .room("z\u{1F600}"), .system("billing"),
    ]

    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        var machine = HeadFetches()
        var history = VectorHistory("headFetches", seed: seed, start: ["conversations": conversations.vector])
        func ids() -> [ConversationID] { conversations.filter { _ in random.chance(30) } }
        for index in 0..<30 {
            let call: String
            var arguments: VectorValue = [:]
            var returned: VectorValue = nil
            switch index == 0 ? 0 : random.below(16) {
            case 0:
                (call, _) = ("connected", machine.connected())
            case 1:
                guard random.chance(20) else { continue }
                (call, _) = ("disconnected", machine.disconnected())
            case 2..<6:
                let ids = ids()
                (call, arguments) = ("fetch", ["ids": ids.vector])
                machine.fetch(ids)
            case 6..<9:
                let id = random.pick(conversations)
                (call, arguments) = ("storedUncertain", ["id": id.vector])
                machine.storedUncertain(id)
            case 9..<12:
                let subscribed = ids()
                (call, arguments) = ("next", ["subscribed": subscribed.vector])
                returned = machine.next { subscribed.contains($0) }.vector
            case 12..<14:
                let ids = ids()
                (call, arguments) = ("answered", ["ids": ids.vector])
                machine.answered(ids)
            case 14:
                let (ids, error) = (ids(), random.error())
                (call, arguments) = ("failed", ["ids": ids.vector, "error": error.vector])
                machine.failed(ids, error)
            default:
                (call, _) = ("tick", machine.tick())
            }
            history.record(
                call, arguments, returned: returned,
                state: [
                    "isWaiting": machine.isWaiting.vector,
                    "inFlight": conversations.filter(machine.isInFlight).vector,
                    "needed": conversations.filter(machine.isNeeded).vector,
                ])
        }
        return history
    }
}
