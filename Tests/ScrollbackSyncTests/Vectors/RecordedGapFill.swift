import Foundation
import ScrollbackModel
import ScrollbackSync

/// A scheduler for gap requests that records its calls.
struct RecordedGapFill {
    private var machine = GapFill()
    var history: VectorHistory?

    init(seed: UInt64? = nil) {
        history = seed.map { VectorHistory("gapFill", seed: $0) }
    }

    mutating func next(_ wanted: GapRequest?, now: Date) -> GapFill.Step {
        let step = machine.next(wanted, now: now)
        let returned: VectorValue =
            switch step {
            case .ask(let request): ["type": "ask", "request": request.vector]
            case .wait(let until): ["type": "wait", "until": until.vector]
            case .idle: ["type": "idle"]
            }
        record("next", ["wanted": wanted.vector, "now": now.vector], returned: returned)
        return step
    }

    mutating func answered(_ request: GapRequest, changedGaps: Bool) {
        machine.answered(request, changedGaps: changedGaps)
        record("answered", ["request": request.vector, "changedGaps": changedGaps.vector])
    }

    mutating func failed(
        _ request: GapRequest, _ error: ChatError, now: Date, using generator: inout RecordedFractions
    ) {
        machine.failed(request, error, now: now, using: &generator)
        let random = generator.takeDrawn()
        record("failed", ["request": request.vector, "error": error.vector, "now": now.vector], random: random)
    }

    mutating func allowRequests() {
        machine.allowRequests()
        record("allowRequests", [:])
    }

    mutating func disconnected() {
        machine.disconnected()
        record("disconnected", [:])
    }

    private mutating func record(
        _ call: String, _ arguments: @autoclosure () -> VectorValue, random: [Double] = [],
        returned: @autoclosure () -> VectorValue = nil
    ) {
        let machine = machine
        history?.record(
            call, arguments(), random: random, returned: returned(),
            state: ["inFlight": machine.inFlight.vector, "isStuck": machine.isStuck.vector])
    }
}

extension RecordedGapFill {
    /// Records random calls.
    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        var fill = RecordedGapFill(seed: seed)
        for _ in 0..<30 {
            let lower = Seq(1 + random.below(3))
            let request = GapRequest(
                gap: lower...lower + Seq(random.below(3)), anchor: lower, direction: random.flag() ? .older : .newer,
                limit: 1 + random.below(2))
            let known = fill.machine.inFlight.flatMap { random.chance(80) ? $0 : nil } ?? request
            random.advance()
            switch random.below(12) {
            case 0..<5: _ = fill.next(random.chance(90) ? request : nil, now: random.now)
            case 5..<7: fill.answered(known, changedGaps: random.chance(60))
            case 7..<10: fill.failed(known, random.error(), now: random.now, using: &random.fractions)
            case 10: fill.allowRequests()
            default: fill.disconnected()
            }
        }
        return fill.history
    }
}
