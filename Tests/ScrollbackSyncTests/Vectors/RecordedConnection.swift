import Foundation
import ScrollbackModel
import ScrollbackSync

/// Random calls of the life cycle of a connection.
struct RecordedConnection {
    private var machine = ConnectionLifecycle(user: me)
    private var random: VectorRandom
    private var history: VectorHistory
    private var wakeAt: Date?

    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var recorded = RecordedConnection(seed: seed)
        for _ in 0..<40 { recorded.step() }
        return recorded.history
    }

    private init(seed: UInt64) {
        random = VectorRandom(seed: seed)
        history = VectorHistory("connectionLifecycle", seed: seed, start: ["user": me.vector])
    }

    private mutating func record(_ call: String, _ arguments: VectorValue, returned: VectorValue = nil) {
        let phase: VectorValue =
            switch machine.phase {
            case .idle: ["type": "idle"]
            case .opening: ["type": "opening"]
            case .authenticating: ["type": "authenticating"]
            case .online: ["type": "online"]
            case .waiting(let until): ["type": "waiting", "until": until.vector]
            case .rejected(let error): ["type": "rejected", "error": error.vector]
            }
        history.record(
            call, arguments, random: random.fractions.takeDrawn(), returned: returned,
            state: [
                "phase": phase, "generation": machine.generation.vector, "isMoving": machine.isMoving.vector,
            ])
    }

    private mutating func record(_ call: String, _ arguments: VectorValue, _ actions: [ConnectionAction]) {
        for case .wake(let time) in actions { wakeAt = time }
        record(call, arguments, returned: actions.vector)
    }

    private mutating func step() {
        random.advance()
        if random.chance(20) { random.advance(to: wakeAt) }
        let now = random.now
        let generation = random.chance(90) ? machine.generation : machine.generation - 1
        switch (machine.phase, random.below(24)) {
        case (.opening, 0..<8): receiveToken(generation)
        case (.opening, 8..<12):
            record(
                "opened", ["generation": generation.vector, "now": now.vector], machine.opened(generation, now: now))
        case (.authenticating, 0..<8), (_, 19): welcome()
        case (_, 0..<3): record("connect", [:], machine.connect())
        case (_, 3): record("reconnectNow", ["now": now.vector], machine.reconnectNow(now: now))
        case (_, 4): receiveToken(generation)
        case (_, 5):
            record(
                "opened", ["generation": generation.vector, "now": now.vector], machine.opened(generation, now: now))
        case (_, 6):
            let error = random.error()
            let actions = machine.openFailed(generation, error, now: now, using: &random.fractions)
            record(
                "openFailed",
                ["generation": generation.vector, "error": error.vector, "now": now.vector], actions)
        case (_, 7..<9):
            machine.received(now: now)
            record("received", ["now": now.vector])
        case (_, 9..<11):
            let isActive = random.flag()
            let actions = machine.setActive(isActive, now: now)
            record("setActive", ["isActive": isActive.vector, "now": now.vector], actions)
        case (_, 11..<13):
            let actions = machine.heartbeat(generation, now: now, using: &random.fractions)
            record("heartbeat", ["generation": generation.vector, "now": now.vector], actions)
        case (_, 13):
            let delay = random.pick([0.25, 2, 7.5])
            let time = machine.retryRequests(after: delay, now: now, using: &random.fractions)
            if let time { wakeAt = time }
            record(
                "retryRequests", ["delay": (delay * 1000).vector, "now": now.vector], returned: time.vector)
        case (_, 14..<16): record("tick", ["now": now.vector], machine.tick(now: now))
        case (_, 16..<18): close(generation)
        case (_, 18):
            let retryAfter = random.flag() ? random.pick([0.25, 2, 7.5]) : nil
            let actions = machine.drop(retryAfter: retryAfter, now: now, using: &random.fractions)
            record("drop", ["retryAfter": retryAfter.vector, "now": now.vector], actions)
        case (_, 21):
            let within = random.pick([0, 0.5, 4])
            let actions = machine.moving(within: within, now: now, using: &random.fractions)
            record("moving", ["within": (within * 1000).vector, "now": now.vector], actions)
        case (_, 22..<24):
            let awaitsAnswers = random.flag()
            let actions = machine.moveIfDue(now: now, awaitsAnswers: awaitsAnswers)
            record("moveIfDue", ["now": now.vector, "awaitsAnswers": awaitsAnswers.vector], actions)
        default:
            if random.chance(80) { return }
            record("disconnect", [:], machine.disconnect())
        }
    }

    private mutating func receiveToken(_ generation: Int) {
        let (error, now) = (random.chance(20) ? random.error() : nil, random.now)
        let token = "token-\(generation)"
        let result: Result<String, ChatError> = error.map { .failure($0) } ?? .success(token)
        let actions = machine.tokenReceived(generation, result, now: now, using: &random.fractions)
        record(
            "tokenReceived",
            [
                "generation": generation.vector, "token": error == nil ? token.vector : nil, "error": error.vector,
                "now": now.vector,
            ], actions)
    }

    private mutating func welcome() {
        let (user, heartbeat): (UserID, Int) = (random.chance(90) ? me : "mallory", random.below(40))
        let actions = machine.welcomed(as: user, heartbeat: heartbeat)
        record("welcomed", ["user": user.vector, "heartbeat": heartbeat.vector], actions)
    }

    private mutating func close(_ generation: Int) {
        let code = random.pick([nil, 1000, 1006, 1012, 4001, 4001, 4003, 4008, 4009, 4010, 4029])
        let reason = random.pick(["", "banned: Spam.", "user-deactivated: Ask an administrator.", "bannedness"])
        let now = random.now
        let actions = machine.closed(generation, code: code, reason: reason, now: now, using: &random.fractions)
        record(
            "closed",
            [
                "generation": generation.vector, "code": code.vector, "reason": reason.vector, "now": now.vector,
            ], actions)
    }
}

extension ConnectionAction: VectorEncodable {
    var vector: VectorValue {
        switch self {
        case .requestToken(let generation): ["type": "requestToken", "generation": generation.vector]
        case .open(let generation, let token):
            ["type": "open", "generation": generation.vector, "token": token.vector]
        case .sendHello(let token, let isActive):
            ["type": "sendHello", "token": token.vector, "isActive": isActive.vector]
        case .sendActivity(let isActive): ["type": "sendActivity", "isActive": isActive.vector]
        case .resume: ["type": "resume"]
        case .sendPing: ["type": "sendPing"]
        case .scheduleHeartbeat(let generation, let seconds):
            ["type": "scheduleHeartbeat", "generation": generation.vector, "after": seconds.vector]
        case .retryRequests: ["type": "retryRequests"]
        case .disconnect: ["type": "disconnect"]
        case .publishPhase: ["type": "publishPhase"]
        case .wake(let time): ["type": "wake", "at": time.vector]
        }
    }
}
