/// A small seeded random number generator (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
///
/// Epochs, demo data, benchmarks and seeded tests use it.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns a number below `bound`, with a slight modulo bias.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// Returns `true` with a probability of `part` percent.
    package mutating func chance(_ part: Int) -> Bool { below(100) < part }

    package mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
