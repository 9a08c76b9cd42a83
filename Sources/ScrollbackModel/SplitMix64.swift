/// A small generator of numbers from a seed (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
///
/// The one place for it: epochs, demo data, benchmarks and every seeded test take theirs from here.
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

    /// A number below `bound`, cheaply.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True `part` times out of a hundred.
    package mutating func chance(_ part: Int) -> Bool { below(100) < part }

    package mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
