import Foundation
import Synchronization

/// The error for a store that fails a case.
package struct ExpectationFailed: Error, CustomStringConvertible {
    package var text: String
    package var file: String
    package var line: UInt

    package var description: String { "\(file):\(line): \(text)" }
}

func expect(
    _ condition: Bool, _ text: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) throws {
    if !condition { throw ExpectationFailed(text: text(), file: "\(file)", line: line) }
}

func expectEqual<Value: Equatable>(
    _ value: Value, _ expected: Value, _ what: @autoclosure () -> String = "the result", file: StaticString = #fileID,
    line: UInt = #line
) throws {
    try expect(value == expected, "\(what()) is \(brief(value)), not \(brief(expected))", file: file, line: line)
}

/// Returns the error that `body` throws.
///
/// - Throws: ``ExpectationFailed`` if `body` does not throw.
@discardableResult
func expectError(
    _ what: String, file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> Void
) throws -> any Error {
    do {
        try body()
    } catch {
        return error
    }
    throw ExpectationFailed(text: "\(what) did not throw", file: "\(file)", line: line)
}

private func brief(_ value: some Any) -> String {
    let text = "\(value)"
    return text.count > 600 ? text.prefix(600) + "… (\(text.count) characters)" : text
}

/// Runs functions concurrently, each on its own thread, and throws one of their errors, if any.
func runConcurrently(_ bodies: [@Sendable () throws -> Void]) throws {
    let concurrentRun = ConcurrentRun()
    for body in bodies {
        concurrentRun.running.enter()
        Thread.detachNewThread {
            do {
                try body()
            } catch {
                concurrentRun.failure.withLock { $0 = error }
            }
            concurrentRun.running.leave()
        }
    }
    concurrentRun.running.wait()
    if let error = concurrentRun.failure.withLock({ $0 }) { throw error }
}

private final class ConcurrentRun: Sendable {
    let running = DispatchGroup()
    let failure = Mutex<(any Error)?>(nil)
}
