import Foundation
import FuzzTargets

/// Checks that the cost of decoding grows linearly with the length of an input.
///
/// Repeats parts of an input until it is long, then eight times as long, and compares the CPU time of this process.
/// The copies are the same, or numbered. Eight times the length costs about 8 times as much if the cost is linear, and
/// 64 times as much if it is quadratic.
struct Cost {
    private let target: FuzzTarget
    /// The length of the longer input in bytes, about that of the longest frame.
    private static let bytes = 512 << 10
    private static let factor = 8
    /// The largest ratio of costs, between linear and quadratic.
    private static let limit = 24.0
    /// The CPU time in seconds below which a cost is not examined, because its ratio means nothing.
    private static let examined = 0.2

    init(_ target: FuzzTarget) {
        self.target = target
    }

    /// Returns whether the cost is linear for every repeated part, and prints those for which it is not.
    func check(_ input: [UInt8], _ file: String) -> Bool {
        var isLinear = true
        for part in Self.parts(of: input) {
            for isNumbered in [false, true] {
                func seconds(_ bytes: Int) -> Double {
                    self.seconds(Self.input(input, repeating: part, bytes: bytes, isNumbered: isNumbered))
                }
                let cost = seconds(Self.bytes)
                guard cost > Self.examined else { continue }
                let short = seconds(Self.bytes / Self.factor)
                guard cost > short * Self.limit else { continue }
                isLinear = false
                let text = String(decoding: input[part].prefix(80), as: UTF8.self)
                print(
                    """
                    The cost of \(target.name) is not linear: \(file), repeating bytes \(part)\
                    \(isNumbered ? " with numbers" : ""): \(text.debugDescription)
                      \(Self.bytes / Self.factor) bytes: \(short) s, \(Self.bytes) bytes: \(cost) s
                    """)
            }
        }
        return isLinear
    }

    /// The parts to repeat: those between two equal separators, and halves.
    private static func parts(of input: [UInt8]) -> [Range<Int>] {
        guard !input.isEmpty else { return [] }
        var parts: Set<Range<Int>> = [0..<input.count, input.count / 2..<input.count]
        for separator in Set(",\n&;. []{}\"".utf8) {
            let places = input.indices.filter { input[$0] == separator }
            for (start, end) in zip(places, places.dropFirst()).prefix(3) { parts.insert(start..<end) }
        }
        return parts.sorted { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
    }

    /// Returns an input with a repeated part.
    ///
    /// - Parameter isNumbered: Whether the longest run of hexadecimal digits in each copy ends with the number of the
    ///   copy, so that the copies are different names or IDs.
    private static func input(
        _ input: [UInt8], repeating part: Range<Int>, bytes: Int, isNumbered: Bool
    ) -> [UInt8] {
        let copies = max(1, (bytes - input.count) / max(1, part.count))
        let digits = isNumbered ? longestDigits(in: input[part]) : part.lowerBound..<part.lowerBound
        var result = Array(input[..<part.lowerBound])
        for number in 0..<copies {
            var rest = number
            var copy = Array(input[part])
            for place in digits.reversed() {
                copy[place - part.lowerBound] = Array("0123456789abcdef".utf8)[rest & 15]
                rest >>= 4
            }
            result += copy
        }
        return result + input[part.upperBound...]
    }

    private static func longestDigits(in part: ArraySlice<UInt8>) -> Range<Int> {
        var longest = part.startIndex..<part.startIndex
        var start = part.startIndex
        for place in part.indices {
            guard (0x30...0x39).contains(part[place]) || (0x61...0x66).contains(part[place]) else {
                start = place + 1
                continue
            }
            if place + 1 - start > longest.count { longest = start..<(place + 1) }
        }
        return longest
    }

    /// The CPU time of decoding, which other processes hardly affect.
    private func seconds(_ input: [UInt8]) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        target.runOrTrap(input)
        return now() - start
    }
}
