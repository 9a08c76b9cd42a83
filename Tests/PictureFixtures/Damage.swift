package import Foundation

/// Damages files reproducibly: the same seed gives the same damage in every run.
package struct Damage: Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    /// Returns the file with one to eight changes.
    ///
    /// A change flips bits, sets bytes, makes numbers huge, or removes, duplicates or moves a part.
    package mutating func damaged(_ file: Data) -> Data {
        var bytes = [UInt8](file)
        for _ in 0...below(8) where !bytes.isEmpty {
            // Half of the changes hit the first 200 bytes, where most of the structure is.
            let place = below(below(2) == 0 ? bytes.count : min(bytes.count, 200))
            switch below(8) {
            case 0: bytes[place] ^= 1 << UInt8(below(8))
            case 1: bytes[place] = UInt8(below(256))
            case 2: bytes[place] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0xD9, 0xDA][below(8)]
            case 3:
                for index in place..<min(place + 4, bytes.count) { bytes[index] = 0xFF }
            case 4: bytes.removeSubrange(place..<min(place + 1 + below(16), bytes.count))
            case 5: bytes.removeSubrange(place...)
            case 6:
                bytes.insert(contentsOf: bytes[place..<min(place + 1 + below(64), bytes.count)], at: below(place + 1))
            default: bytes.insert(contentsOf: (0...below(8)).map { _ in UInt8(below(256)) }, at: place)
            }
        }
        return Data(bytes)
    }

    /// Returns a number from 0 up to but not including `bound`, by the SplitMix64 generator.
    private mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
