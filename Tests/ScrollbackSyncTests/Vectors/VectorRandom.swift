import Foundation
import ScrollbackModel

/// The random arguments of the calls in a history, and its clock.
struct VectorRandom {
    private var generator: SplitMix64
    /// The numbers that the state machine draws.
    var fractions: RecordedFractions
    private(set) var now = noon

    init(seed: UInt64) {
        generator = SplitMix64(seed: seed)
        fractions = RecordedFractions(seed: generator.next())
    }

    mutating func below(_ bound: Int) -> Int { generator.below(bound) }
    mutating func chance(_ part: Int) -> Bool { generator.chance(part) }
    mutating func flag() -> Bool { generator.chance(50) }
    mutating func pick<T>(_ choices: [T]) -> T { generator.pick(choices) }
    mutating func seq(_ bound: Int) -> Seq { Seq(generator.below(bound)) }
    mutating func range(_ bound: Int) -> SeqRange {
        let lower = 1 + seq(bound)
        return lower...lower + seq(4)
    }

    /// Advances the clock by up to 30 seconds, mostly by less than one.
    mutating func advance() {
        now += Double(below(chance(80) ? 8 : 240)) / 8
    }

    /// Advances the clock to a time, if it is later.
    mutating func advance(to time: Date?) {
        guard let time, time > now else { return }
        now += ((time.timeIntervalSince(now) * 8).rounded(.up)) / 8
    }

    mutating func error() -> ChatError {
        let code = pick([ChatError.Code.overloaded, .rateLimited, .unreachable, .forbidden, .contentRejected])
        return ChatError(code, "It failed.", retryAfter: chance(30) ? pick([0.25, 2, 7.5, 60]) : nil)
    }
}
