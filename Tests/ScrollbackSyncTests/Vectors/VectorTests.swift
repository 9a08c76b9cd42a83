import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// Writes the vectors (Documentation/vectors.md).
///
/// `SCROLLBACK_WRITE_VECTORS=1` writes the samples in `Web/vectors`. `SCROLLBACK_VECTORS` is the path of a file for the
/// histories of many seeds, and `SCROLLBACK_SEEDS` is the number of seeds.
@Suite("Vectors")
struct VectorTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// The histories of a few seeds by machine.
    private static let firstHistories = Dictionary(
        grouping: (1...8 as ClosedRange<UInt64>).flatMap(Vectors.histories), by: \.machine)
    private static let samples = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Web/vectors").standardized

    @Test("The sample vectors are what the state machines do", arguments: Vectors.machines)
    func samplesAreCurrent(machine: String) throws {
        let histories = try #require(Self.firstHistories[machine])
        let lines = histories.prefix(3).map { String(decoding: $0.line, as: UTF8.self) + "\n" }.joined()
        let file = Self.samples.appending(path: "\(machine).jsonl")
        if Self.environment["SCROLLBACK_WRITE_VECTORS"] == "1" { try Data(lines.utf8).write(to: file) }
        let sample = try String(contentsOf: file, encoding: .utf8)
        #expect(
            sample == lines,
            "The state machine changed. Write the samples again, and change the implementation in Web/sdk/sync too.")
    }

    @Test("The histories of many seeds are written to a file", .enabled(if: environment["SCROLLBACK_VECTORS"] != nil))
    func writesHistories() async throws {
        let path = try #require(Self.environment["SCROLLBACK_VECTORS"])
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        defer { try? file.close() }
        let seeds = Seeds.range()
        var written = 0
        try await withThrowingTaskGroup(of: (bytes: [UInt8], count: Int).self) { group in
            var next = seeds.lowerBound
            func addTask() {
                guard next <= seeds.upperBound else { return }
                let part = next...min(seeds.upperBound, next + 9)
                next = part.upperBound + 1
                group.addTask {
                    let histories = part.flatMap(Vectors.histories)
                    return (Array(histories.map { $0.line + [0x0A] }.joined()), histories.count)
                }
            }
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { addTask() }
            while let part = try await group.next() {
                try file.write(contentsOf: part.bytes)
                written += part.count
                if written % 1000 < part.count { print("vectors: \(written) histories written") }
                addTask()
            }
        }
        print("vectors: \(written) histories of \(seeds.count) seeds")
    }
}
