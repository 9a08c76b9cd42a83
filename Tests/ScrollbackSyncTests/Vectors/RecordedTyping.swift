import ScrollbackModel
import ScrollbackSync

/// Random calls of the state machines for typing.
enum RecordedTyping {
    private static let conversations: [ConversationID] = [.group("swift"), .direct("bob"), .room("lobby")]

    static func ownHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        var machine = OwnTyping()
        var history = VectorHistory("ownTyping", seed: seed)
        for _ in 0..<30 {
            random.advance()
            if random.chance(20) { random.advance(to: machine.next) }
            let (id, now) = (random.pick(conversations), random.now)
            let call: String
            var arguments: VectorValue = ["id": id.vector]
            var returned: VectorValue = nil
            switch random.below(10) {
            case 0..<5:
                (call, arguments) = ("typed", ["id": id.vector, "now": now.vector])
                returned = machine.typed(in: id, now: now).vector
            case 5: (call, returned) = ("stopped", machine.stopped(in: id).vector)
            case 6: (call, _) = ("sent", machine.sent(to: id))
            default: (call, arguments, returned) = ("tick", ["now": now.vector], machine.tick(now: now).vector)
            }
            history.record(call, arguments, returned: returned, state: ["next": machine.next.vector])
        }
        return history
    }

    static func usersHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        var machine = TypingUsers()
        var history = VectorHistory(
            "typingUsers", seed: seed, start: ["conversations": conversations.vector])
        // In some histories, more users type than are counted.
        let isCrowded = random.chance(10)
        for _ in 0..<(isCrowded ? 200 : 40) {
            if !isCrowded || random.chance(2) { random.advance() }
            if random.chance(isCrowded ? 2 : 20) { random.advance(to: machine.next) }
            let id = isCrowded ? conversations[0] : random.pick(conversations)
            let user = UserID(known: "u\(random.below(isCrowded ? 70 : 4))")
            let now = random.now
            let call: String
            var arguments: VectorValue = ["user": user.vector, "id": id.vector]
            let returned: VectorValue
            switch random.below(isCrowded ? 40 : 10) {
            case 0:
                (call, returned) = ("messageReceived", machine.messageReceived(from: user, in: id).vector)
            case 1: (call, arguments, returned) = ("tick", ["now": now.vector], machine.tick(now: now).vector)
            case 2:
                guard random.chance(20) else { continue }
                (call, arguments, returned) = ("disconnected", [:], machine.disconnected().vector)
            default:
                let isTyping = random.chance(isCrowded ? 95 : 75)
                call = "received"
                arguments = [
                    "user": user.vector, "id": id.vector, "isTyping": isTyping.vector, "now": now.vector,
                ]
                returned = machine.received(user, in: id, isTyping: isTyping, now: now).vector
            }
            history.record(
                call, arguments, returned: returned,
                state: [
                    "users": .list(conversations.map { machine.users(in: $0).vector }), "next": machine.next.vector,
                ])
        }
        return history
    }
}
