import Foundation
import ScrollbackModel
import ScrollbackSync

/// A state machine that resumes connections and records its calls.
struct RecordedResume {
    private var machine = ResumeState()
    private let conversations: [ConversationID]
    /// The number of each live event; equal events have the same number.
    private var events: [LiveEvent: Int] = [:]
    var history: VectorHistory?

    init(conversations: [ConversationID] = [], seed: UInt64? = nil) {
        self.conversations = conversations
        history = seed.map {
            VectorHistory("resumeState", seed: $0, start: ["conversations": conversations.vector])
        }
    }

    mutating func connected(cursor: String?, behind: [LogPosition] = [], isNew: Bool = false) -> [ResumeAction] {
        let actions = machine.connected(cursor: cursor, behind: behind, isNew: isNew)
        record("connected", ["cursor": cursor.vector, "behind": behind.vector, "isNew": isNew.vector], actions)
        return actions
    }

    mutating func disconnected() {
        machine.disconnected()
        record("disconnected", [:], [])
    }

    mutating func tick(now: Date) -> [ResumeAction] {
        let actions = machine.tick(now: now)
        record("tick", ["now": now.vector], actions)
        return actions
    }

    mutating func windowAnswered(
        _ request: Int, heads: [ConversationHead], cursor: String, isDone: Bool
    ) -> [ResumeAction] {
        let actions = machine.windowAnswered(request, heads: heads, cursor: cursor, isDone: isDone)
        record(
            "windowAnswered",
            [
                "request": request.vector, "heads": heads.vector, "cursor": cursor.vector, "isDone": isDone.vector,
            ], actions)
        return actions
    }

    mutating func windowStored(isBehind: (ConversationHead) -> LogPosition?) -> [ResumeAction] {
        var positions: [LogPosition] = []
        let actions = machine.windowStored { head in
            let position = isBehind(head)
            if let position { positions.append(position) }
            return position
        }
        record("windowStored", ["behind": positions.vector], actions)
        return actions
    }

    mutating func windowFailed(
        _ request: Int, _ error: ChatError, now: Date, using generator: inout RecordedFractions
    ) -> [ResumeAction] {
        let actions = machine.windowFailed(request, error, now: now, using: &generator)
        let random = generator.takeDrawn()
        record(
            "windowFailed", ["request": request.vector, "error": error.vector, "now": now.vector], actions,
            random: random)
        return actions
    }

    mutating func live(_ event: LiveEvent) -> [ResumeAction] {
        if history != nil, events[event] == nil { events[event] = events.count + 1 }
        let (actions, number) = (machine.live(event), events[event])
        record("live", ["number": number.vector, "event": event.vector], actions)
        return actions
    }

    mutating func needsSync(_ position: LogPosition) -> [ResumeAction] {
        let actions = machine.needsSync(position)
        record("needsSync", ["position": position.vector], actions)
        return actions
    }

    mutating func syncAnswered(
        _ batch: Int, behind: [LogPosition], now: Date, using generator: inout RecordedFractions
    ) -> [ResumeAction] {
        let actions = machine.syncAnswered(batch, behind: behind, now: now, using: &generator)
        let random = generator.takeDrawn()
        record(
            "syncAnswered", ["batch": batch.vector, "behind": behind.vector, "now": now.vector], actions, random: random
        )
        return actions
    }

    mutating func syncFailed(
        _ batch: Int, _ error: ChatError, now: Date, using generator: inout RecordedFractions
    ) -> [ResumeAction] {
        let actions = machine.syncFailed(batch, error, now: now, using: &generator)
        let random = generator.takeDrawn()
        record(
            "syncFailed", ["batch": batch.vector, "error": error.vector, "now": now.vector], actions, random: random)
        return actions
    }

    private mutating func record(
        _ call: String, _ arguments: @autoclosure () -> VectorValue, _ actions: [ResumeAction], random: [Double] = []
    ) {
        guard history != nil else { return }
        let state: VectorValue = [
            "isFetchingWindows": machine.isFetchingWindows.vector, "heldCount": machine.heldCount.vector,
            "resumed": conversations.filter(machine.isResumed).vector,
        ]
        let returned = VectorValue.list(actions.map(vector))
        history?.record(call, arguments(), random: random, returned: returned, state: state)
    }

    private func vector(_ action: ResumeAction) -> VectorValue {
        switch action {
        case .pullWindow(let request, let cursor):
            ["type": "pullWindow", "request": request.vector, "cursor": cursor.vector]
        case .storeHeads(let heads, let cursor):
            ["type": "storeHeads", "heads": heads.map(\.conversation).vector, "cursor": cursor.vector]
        case .sync(let batch, let positions):
            ["type": "sync", "batch": batch.vector, "positions": positions.vector]
        case .release(let released): ["type": "release", "events": released.compactMap { events[$0] }.vector]
        case .recheck(let conversations): ["type": "recheck", "conversations": conversations.vector]
        case .wake(let time): ["type": "wake", "at": time.vector]
        }
    }
}

extension RecordedResume {
    /// Records random calls.
    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        // Two batches are not enough for all of them.
        let conversations =
            [ConversationID.direct("bob"), .room("lobby"), .community("city", channel: "general")]
            + (0..<random.pick([3, 60])).map { ConversationID.group(Identifier(known: "g\($0)")) }
        var resume = RecordedResume(conversations: conversations, seed: seed)
        var numbers: [Int] = []
        var asked: [Int: [LogPosition]] = [:]
        var wakeAt: Date?
        func position() -> LogPosition {
            LogPosition(
                conversation: random.pick(conversations), epoch: Epoch(rawValue: 7), view: 1, seq: random.seq(3), rev: 0
            )
        }
        func positions(_ most: Int) -> [LogPosition] { (0..<random.below(most)).map { _ in position() } }
        for _ in 0..<40 {
            random.advance()
            if random.chance(20) { random.advance(to: wakeAt) }
            let number = random.chance(10) || numbers.isEmpty ? random.below(9) : random.pick(numbers)
            let actions: [ResumeAction]
            switch random.below(20) {
            case 0:
                actions = resume.connected(
                    cursor: random.flag() ? "c" : nil, behind: positions(5), isNew: random.chance(40))
            case 1:
                if random.chance(80) { continue }
                resume.disconnected()
                actions = []
            case 2..<4: actions = resume.tick(now: random.now)
            case 4..<7:
                let heads = (0..<random.below(6)).map { _ in
                    ConversationHead(conversation: random.pick(conversations), state: log(random.seq(5)))
                }
                actions = resume.windowAnswered(number, heads: heads, cursor: "d", isDone: random.chance(40))
            case 7..<9:
                var behind: [ConversationID: LogPosition] = [:]
                for position in positions(90) { behind[position.conversation] = position }
                actions = resume.windowStored { behind[$0.conversation] }
            case 9:
                actions = resume.windowFailed(number, random.error(), now: random.now, using: &random.fractions)
            case 10..<13:
                var row = message(1 + random.seq(9))
                row.conversation = random.pick(conversations)
                actions = resume.live(.message(row))
            case 13..<16: actions = resume.needsSync(position())
            case 16..<18:
                // An answer without progress leaves all positions of the batch as they were.
                let behind = random.chance(40) ? asked[number] ?? [] : positions(4)
                actions = resume.syncAnswered(number, behind: behind, now: random.now, using: &random.fractions)
            default:
                actions = resume.syncFailed(number, random.error(), now: random.now, using: &random.fractions)
            }
            for action in actions {
                switch action {
                case .pullWindow(let number, _): numbers.append(number)
                case .sync(let number, let positions):
                    numbers.append(number)
                    asked[number] = positions
                case .wake(let time): wakeAt = time
                default: break
                }
            }
            if numbers.count > 4 { numbers.removeFirst() }
        }
        return resume.history
    }
}
