import Foundation
import ScrollbackModel

/// The recorded life of one state machine: how it was created, and the arguments, results and states of its calls.
struct VectorHistory {
    let machine: String
    let seed: UInt64
    private let start: VectorValue
    private var steps: [[UInt8]] = []

    init(_ machine: String, seed: UInt64, start: VectorValue = [:]) {
        self.machine = machine
        self.seed = seed
        self.start = start
    }

    var isEmpty: Bool { steps.isEmpty }

    /// Records a call.
    ///
    /// - Parameters:
    ///   - random: The random fractions that the machine drew.
    ///   - state: What an owner of the machine can observe after the call.
    mutating func record(
        _ call: String, _ arguments: VectorValue = [:], random: [Double] = [], returned: VectorValue = nil,
        state: VectorValue
    ) {
        var writer = JSONWriter()
        let step: VectorValue = [
            "call": .text(call), "with": arguments, "random": random.isEmpty ? nil : random.vector,
            "returns": returned, "state": state,
        ]
        step.write(to: &writer)
        steps.append(writer.bytes)
    }

    /// The history as one line of JSON.
    var line: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("machine", machine)
            writer.field("seed", Int64(seed))
            writer.key("start")
            start.write(to: &writer)
            writer.key("steps")
            writer.array { writer in
                for step in steps { writer.splice(encoded: step) }
            }
        }
        return writer.line
    }
}

/// A source of random numbers that give fractions of eight, and that the vectors contain.
///
/// Swift's random floating-point numbers are then exactly `lower + (upper - lower) * fraction`. Delays are multiples of
/// 1/64 second, so that all times are exact in binary.
struct RecordedFractions: RandomNumberGenerator {
    private var generator: SplitMix64
    private var drawn: [Double] = []

    init(seed: UInt64) {
        generator = SplitMix64(seed: seed)
    }

    mutating func next() -> UInt64 {
        let eighths = UInt64(1 + generator.below(7))
        drawn.append(Double(eighths) / 8)
        return eighths << 61
    }

    /// Returns the fractions since the last call.
    mutating func takeDrawn() -> [Double] {
        defer { drawn.removeAll(keepingCapacity: true) }
        return drawn
    }
}
