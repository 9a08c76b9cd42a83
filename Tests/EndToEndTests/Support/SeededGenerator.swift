import Foundation

/// A reproducible random number generator: SplitMix64 with a seed that it prints.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// Creates a generator with the seed in `SCROLLBACK_SEED`, or with a random seed.
    ///
    /// - Parameter what: The purpose of the random numbers, printed beside the seed.
    init(_ what: String) {
        let seed = ProcessInfo.processInfo.environment["SCROLLBACK_SEED"].flatMap(UInt64.init)
        state = seed ?? UInt64.random(in: 1...999_999)
        print("\(what): SCROLLBACK_SEED=\(state)")
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    mutating func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
        .milliseconds(Int64.random(in: range, using: &self))
    }
}
